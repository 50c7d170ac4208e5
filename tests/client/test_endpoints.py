"""Where a client looks for a daemon, and whose sockets it does not trust."""

import os
import socket
import stat
import tempfile

import pytest

from torqued.client import Client, TorquedError
from torqued.client.discovery import is_alive
from torqued.client.endpoints import check_local, default_folder, request_endpoint

SOMEBODY = 12345
as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")


@pytest.fixture
def listening():
    """Makes sockets that somebody listens on."""
    made = []

    def listen(path):
        server = socket.socket(socket.AF_UNIX)
        made.append(server)
        server.bind(str(path))
        server.listen()
        return server

    yield listen
    for server in made:
        server.close()


@pytest.fixture
def fallback(tmp_path, monkeypatch):
    """The default folder in the common temporary one, which anybody may write to."""
    for name in ("TORQUED_FOLDER", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    tmp_path.chmod(0o1777)
    assert default_folder().parent == tmp_path
    return default_folder()


@pytest.fixture
def chosen(tmp_path, monkeypatch):
    """A folder that the user has named."""
    folder = tmp_path / "sockets"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("TORQUED_FOLDER", str(folder))
    return folder


@pytest.fixture(params=["fallback", "chosen"])
def folder(request):
    folder = request.getfixturevalue(request.param)
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def test_folder_of_ones_own_is_taken(folder, listening):
    listening(folder / "arm.sock")
    check_local(request_endpoint("arm"))


def test_default_folder_is_made_before_a_stranger_makes_it(fallback):
    check_local(request_endpoint("arm"))
    assert stat.S_IMODE(fallback.lstat().st_mode) == 0o700
    assert fallback.lstat().st_uid == os.getuid()


def test_folder_that_was_named_and_is_not_there_is_not_made(chosen):
    chosen.rmdir()
    check_local(request_endpoint("arm"))
    assert not chosen.exists()


@pytest.mark.parametrize("mode", [0o770, 0o777, 0o720, 0o702, 0o1777])
def test_folder_that_others_may_write_to_is_refused(folder, mode):
    folder.chmod(mode)
    with pytest.raises(TorquedError, match=f"{folder} .* mode {mode:04o}, expected"):
        check_local(request_endpoint("arm"))


@pytest.mark.parametrize("mode", [0o700, 0o750, 0o755])
def test_folder_that_others_may_only_enter_is_taken(folder, mode):
    folder.chmod(mode)
    check_local(request_endpoint("arm"))


@as_root
def test_default_folder_of_another_user_is_refused(fallback):
    fallback.mkdir(mode=0o700)
    os.chown(fallback, SOMEBODY, -1)
    with pytest.raises(TorquedError, match=f"belongs to user {SOMEBODY}.*TORQUED_FOLDER"):
        check_local(request_endpoint("arm"))


@as_root
def test_default_folder_of_another_user_in_its_runtime_folder_is_refused(tmp_path, monkeypatch):
    monkeypatch.delenv("TORQUED_FOLDER", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    folder = tmp_path / "torqued"
    folder.mkdir(mode=0o700)
    os.chown(folder, SOMEBODY, -1)
    with pytest.raises(TorquedError, match=f"belongs to user {SOMEBODY}"):
        check_local(request_endpoint("arm"))


@as_root
def test_folder_of_another_user_that_was_named_is_taken(chosen, listening):
    """As of a daemon whose group this user is in."""
    listening(chosen / "arm.sock")
    os.chown(chosen, SOMEBODY, -1)
    os.chown(chosen / "arm.sock", SOMEBODY, -1)
    chosen.chmod(0o750)
    check_local(request_endpoint("arm"))


def test_default_folder_that_is_a_link_is_refused(fallback, tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    fallback.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(TorquedError, match=f"symbolic link .* to {tmp_path}/elsewhere"):
        check_local(request_endpoint("arm"))


def test_link_of_ones_own_that_was_named_is_followed(tmp_path, chosen):
    link = tmp_path / "link"
    link.symlink_to(chosen)
    check_local(request_endpoint("arm", link))
    chosen.chmod(0o777)
    with pytest.raises(TorquedError, match="others could impersonate"):
        check_local(request_endpoint("arm", link))


@as_root
def test_link_of_a_stranger_is_refused_even_where_it_was_named(tmp_path, chosen):
    link = tmp_path / "link"
    link.symlink_to(chosen)
    os.lchown(link, SOMEBODY, -1)
    with pytest.raises(TorquedError, match=f"symbolic link of user {SOMEBODY}"):
        check_local(request_endpoint("arm", link))


def test_file_in_place_of_the_folder_is_refused(chosen):
    chosen.rmdir()
    chosen.write_text("")
    with pytest.raises(TorquedError, match="is not a directory"):
        check_local(request_endpoint("arm"))


def test_file_or_link_in_place_of_the_socket_is_refused(folder, listening, tmp_path):
    listening(tmp_path / "other.sock")
    (folder / "file.sock").write_text("")
    (folder / "link.sock").symlink_to(tmp_path / "other.sock")
    for name in ("file", "link"):
        with pytest.raises(TorquedError, match=f"{name}.sock is not a socket"):
            check_local(request_endpoint(name))


@as_root
def test_socket_of_a_third_user_is_refused(folder, listening):
    listening(folder / "arm.sock")
    os.chown(folder / "arm.sock", SOMEBODY, -1)
    with pytest.raises(TorquedError, match=f"arm.sock belongs to user {SOMEBODY}"):
        check_local(request_endpoint("arm"))


@pytest.mark.parametrize("endpoint", ["tcp://127.0.0.1:5550", "ipc://@abstract", "inproc://arm"])
def test_endpoints_without_files_have_none_to_look_at(endpoint):
    check_local(endpoint)


@as_root
def test_client_does_not_talk_to_a_strangers_daemon(fallback):
    fallback.mkdir(mode=0o755)
    os.chown(fallback, SOMEBODY, -1)
    with Client("arm", timeout=0.1) as client, pytest.raises(TorquedError, match="belongs to"):
        client.hello()


def test_daemon_that_listens_is_alive_and_the_socket_of_a_dead_one_is_not(chosen, listening):
    assert not is_alive("arm")
    server = listening(chosen / "arm.control.sock")
    assert is_alive("arm")
    assert is_alive("arm", chosen)
    server.close()
    assert (chosen / "arm.control.sock").exists()
    assert not is_alive("arm")
