import socket
import threading

import PySide6
import pytest

from slide_gui.gui import app, display
from slide_gui.gui.display import binding_problem, display_problem, installed_binding


@pytest.fixture
def bare(monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    return monkeypatch


def serve(answer):
    server = next(filter(None, map(at_display, range(200, 300))))

    def run():
        connection, _ = server.accept()
        with connection:
            connection.recv(100)
            if answer:
                connection.sendall(answer)
        server.close()

    thread = threading.Thread(target=run)
    thread.start()
    return server.getsockname()[1] - 6000, thread


def at_display(number):
    try:
        return socket.create_server(("127.0.0.1", 6000 + number))
    except OSError:  # another program uses this port
        return None


@pytest.mark.parametrize(("answer", "there"), [(b"\x01", True), (b"\x00", True), (b"", False)])
def test_that_a_display_is_accepted_if_it_sends_any_reply(bare, answer, there):
    number, thread = serve(answer)
    bare.setenv("DISPLAY", f"127.0.0.1:{number}")
    bare.setattr(display, "LIBRARIES", {})
    assert display_problem() == (
        None
        if there
        else f"the display '127.0.0.1:{number}' does not answer; check DISPLAY, or run under a virtual display"
    )
    thread.join()


def test_that_a_missing_or_dead_display_is_reported_with_the_remedy_and_a_chosen_platform_is_left_to_qt(bare, tmp_path):
    assert "there is no display" in display_problem()
    assert "slide-gui weights" in display_problem()
    bare.setenv("WAYLAND_DISPLAY", "wayland-0")
    bare.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert "there is no display" in display_problem()
    bare.setenv("DISPLAY", ":987")
    assert "':987' does not answer" in display_problem()
    bare.setenv("QT_QPA_PLATFORM", "offscreen")
    assert display_problem() is None


def test_that_missing_libraries_are_named_with_the_command_that_installs_them(bare):
    number, thread = serve(b"\x01")
    bare.setenv("DISPLAY", f"127.0.0.1:{number}")
    bare.setattr(display, "LIBRARIES", {"libsurely-not-there.so.9": "libsurely-not-there9"})
    assert display_problem().endswith("apt-get install libsurely-not-there9")
    thread.join()


def test_that_only_the_binding_that_loses_references_is_refused_and_only_before_python_3_12():
    for binding in ("6.12.0", "6.12.1"):
        problem = binding_problem(binding, (3, 11))
        assert all(part in problem for part in (binding, "3.11", "pip install"))
        assert binding_problem(binding, (3, 12)) is None
    for binding in ("6.8.3", "6.9.3", "6.10.3", "6.11.3", "6.1.2"):
        assert binding_problem(binding, (3, 11)) is None
    assert installed_binding() == PySide6.__version__
    assert binding_problem() is None


def test_that_the_program_refuses_a_binding_in_one_sentence(monkeypatch, capsys):
    monkeypatch.setattr(app, "binding_problem", lambda: "PySide6 6.12.0 aborts on Python 3.11")
    assert app.run([]) == 1
    assert capsys.readouterr().err == "slide-gui: PySide6 6.12.0 aborts on Python 3.11\n"
