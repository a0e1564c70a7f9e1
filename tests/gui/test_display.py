import socket
import threading

import pytest

from slide_gui.gui import display
from slide_gui.gui.display import display_problem


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
    except OSError:  # something else listens there
        return None


def test_that_no_display_is_said_with_what_to_do_instead(bare):
    assert "there is no display" in display_problem()
    assert "slide-gui weights" in display_problem()


def test_that_a_display_that_does_not_answer_is_named(bare):
    bare.setenv("DISPLAY", ":987")
    assert "':987' does not answer" in display_problem()


@pytest.mark.parametrize(("answer", "there"), [(b"\x01", True), (b"\x00", True), (b"", False)])
def test_that_a_display_counts_when_it_says_anything(bare, answer, there):
    number, thread = serve(answer)
    bare.setenv("DISPLAY", f"127.0.0.1:{number}")
    bare.setattr(display, "LIBRARIES", {})
    assert display_problem() == (
        None
        if there
        else f"the display '127.0.0.1:{number}' does not answer; check DISPLAY, or run under a virtual display"
    )
    thread.join()


def test_that_a_dead_wayland_socket_does_not_count(bare, tmp_path):
    bare.setenv("WAYLAND_DISPLAY", "wayland-0")
    bare.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert "there is no display" in display_problem()


def test_that_missing_libraries_are_named_with_the_command_that_installs_them(bare):
    number, thread = serve(b"\x01")
    bare.setenv("DISPLAY", f"127.0.0.1:{number}")
    bare.setattr(display, "LIBRARIES", {"libsurely-not-there.so.9": "libsurely-not-there9"})
    assert display_problem().endswith("apt-get install libsurely-not-there9")
    thread.join()


def test_that_a_chosen_platform_is_left_to_qt(bare):
    bare.setenv("QT_QPA_PLATFORM", "offscreen")
    assert display_problem() is None
