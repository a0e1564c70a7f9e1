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
    server = socket.create_server(("127.0.0.1", 0))

    def run():
        connection, _ = server.accept()
        with connection:
            connection.recv(100)
            if answer:
                connection.sendall(answer)
        server.close()

    thread = threading.Thread(target=run)
    thread.start()
    return server.getsockname()[1], thread


def test_that_no_display_is_said_with_what_to_do_instead(bare):
    assert "there is no display" in display_problem()
    assert "slide-gui weights" in display_problem()


def test_that_a_display_that_does_not_answer_is_named(bare):
    bare.setenv("DISPLAY", ":987")
    assert "':987' does not answer" in display_problem()


@pytest.mark.parametrize(("answer", "there"), [(b"\x01", True), (b"\x00", True), (b"", False)])
def test_that_a_display_counts_when_it_says_anything(bare, answer, there):
    port, thread = serve(answer)
    assert display._connects(socket.AF_INET, ("127.0.0.1", port), display._X11_GREETING) is there
    thread.join()


def test_that_a_dead_wayland_socket_does_not_count(bare, tmp_path):
    bare.setenv("WAYLAND_DISPLAY", "wayland-0")
    bare.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert "there is no display" in display_problem()


def test_that_missing_libraries_are_named_with_the_command_that_installs_them(bare):
    bare.setenv("DISPLAY", ":0")
    bare.setattr(display, "_answers", lambda name: True)
    bare.setattr(display, "LIBRARIES", {"libsurely-not-there.so.9": "libsurely-not-there9"})
    assert display_problem().endswith("apt-get install libsurely-not-there9")


def test_that_a_chosen_platform_is_left_to_qt(bare):
    bare.setenv("QT_QPA_PLATFORM", "offscreen")
    assert display_problem() is None
