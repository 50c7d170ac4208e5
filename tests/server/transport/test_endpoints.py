"""Endpoints: names, lengths, locks and the files that are taken away."""

import grp
import os
import stat

import pytest

from torqued.client import endpoints as places
from torqued.server.transport.endpoints import (
    EndpointError,
    Endpoints,
    group_number,
    private_folder,
)


@pytest.fixture
def folder(tmp_path):
    return private_folder(tmp_path / "sockets")


def test_folder_is_made_for_its_user_alone(folder):
    assert folder.stat().st_mode & 0o777 == 0o700


def test_symbolic_link_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "sockets").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(EndpointError, match=f"symbolic link of user .* to {tmp_path}/elsewhere"):
        private_folder(tmp_path / "sockets")
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    with pytest.raises(EndpointError, match="symbolic link"):
        private_folder(tmp_path / "broken")
    assert not (tmp_path / "nowhere").exists()


def test_file_is_not_a_directory(tmp_path):
    (tmp_path / "sockets").write_text("")
    with pytest.raises(EndpointError, match="is not a directory"):
        private_folder(tmp_path / "sockets")


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_folder_of_another_user_is_not_taken(tmp_path):
    (tmp_path / "sockets").mkdir(mode=0o700)
    os.chown(tmp_path / "sockets", 12345, -1)
    with pytest.raises(EndpointError, match="belongs to user 12345"):
        private_folder(tmp_path / "sockets")


def test_folder_that_anybody_may_replace_is_not_taken(tmp_path):
    tmp_path.chmod(0o777)
    with pytest.raises(EndpointError, match="mode 0777: other users could replace it"):
        private_folder(tmp_path / "sockets")
    tmp_path.chmod(0o1777)  # as of /tmp: only owners may
    private_folder(tmp_path / "sockets")


def test_lock_is_not_a_link(folder, tmp_path):
    (folder / "arm.lock").symlink_to(tmp_path / "victim")
    with pytest.raises(EndpointError, match=r"cannot open lock .*Too many levels"):
        Endpoints(folder, "arm").lock()
    assert not (tmp_path / "victim").exists()


@pytest.fixture
def group():
    """A group that this user is in."""
    return grp.getgrgid(os.getgid()).gr_name


def test_folder_for_a_group_lets_it_enter_and_not_write(tmp_path, group):
    folder = private_folder(tmp_path / "shared", group)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o750
    assert folder.stat().st_gid == os.getgid()
    assert private_folder(folder, group) == folder


@pytest.mark.parametrize(
    "mode, words", [(0o700, "group cannot enter"), (0o770, "others could"), (0o755, "others could")]
)
def test_folder_of_another_mode_is_not_taken_for_a_group(tmp_path, group, mode, words):
    tmp_path.chmod(mode)
    with pytest.raises(EndpointError, match=f"mode {mode:04o}, expected 0750: .*{words}"):
        private_folder(tmp_path, group)


def test_folder_for_a_group_is_not_taken_for_the_user_alone(tmp_path, group):
    folder = private_folder(tmp_path / "shared", group)
    with pytest.raises(EndpointError, match="mode 0750, expected 0700"):
        private_folder(folder)


def test_group_may_be_a_number_that_has_no_name_here(tmp_path):
    folder = private_folder(tmp_path / "shared", str(os.getgid()))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o750
    assert folder.stat().st_gid == os.getgid()
    assert group_number("4000000000") == 4000000000


def test_unknown_group_is_refused_before_anything_is_made(tmp_path):
    with pytest.raises(EndpointError, match="'no-such-group' is unknown"):
        private_folder(tmp_path / "shared", "no-such-group")
    assert not (tmp_path / "shared").exists()


@pytest.mark.skipif(os.getuid() == 0, reason="root may give a folder to any group")
def test_group_that_the_user_is_not_in_is_refused(tmp_path):
    strange = next(entry for entry in grp.getgrall() if entry.gr_gid not in os.getgroups())
    with pytest.raises(EndpointError, match="is this user a member"):
        private_folder(tmp_path / "shared", strange.gr_name)
    assert not (tmp_path / "shared").exists()


@pytest.mark.parametrize("shared", [False, True])
def test_sockets_and_lock_are_protected_whatever_the_umask(tmp_path, group, shared):
    folder = private_folder(tmp_path / "shared", group if shared else None)
    endpoints = Endpoints(folder, "panda", group if shared else None)
    before = os.umask(0)
    try:
        endpoints.lock().close()
        (folder / "panda.sock").touch()
        endpoints.protect(endpoints.request)
    finally:
        os.umask(before)
    modes = [stat.S_IMODE((folder / name).stat().st_mode) for name in ("panda.sock", "panda.lock")]
    assert modes == [0o660 if shared else 0o600, 0o600]


@pytest.mark.parametrize("name", ["", "a/b", "..", "panda.v2", "pan*", "a b"])
def test_names_that_could_meet_other_files_are_refused(folder, name):
    with pytest.raises(EndpointError, match="letters, digits"):
        Endpoints(folder, name)


def test_path_too_long_for_a_socket_is_refused_at_once(folder):
    with pytest.raises(EndpointError, match="choose a shorter folder"):
        Endpoints(folder / ("x" * 100), "panda")


def test_client_and_daemon_agree_on_names(folder):
    endpoints = Endpoints(folder, "panda")
    assert endpoints.request == places.request_endpoint("panda", folder)
    assert endpoints.control == f"ipc://{folder}/panda.control.sock"
    assert endpoints.telemetry == f"ipc://{folder}/panda.telemetry.sock"


def test_only_its_own_files_are_removed(folder):
    endpoints = Endpoints(folder, "panda")
    own = ["panda.sock", "panda.control.sock", "panda.telemetry.sock", "panda.lock"]
    own.append(endpoints.session(7).rsplit("/", 1)[1])
    others = ["panda2.sock", "panda2.lock", "panda-2.session-00000001.sock", "panda.toml"]
    for name in own + others:
        (folder / name).touch()
    endpoints.remove()
    assert sorted(path.name for path in folder.iterdir()) == sorted(others)


def test_lock_is_one_daemons_and_names_it(folder):
    endpoints = Endpoints(folder, "panda")
    lock = endpoints.lock()
    with pytest.raises(EndpointError, match=f"already runs on .*process {os.getpid()}"):
        endpoints.lock()
    lock.close()
    endpoints.lock().close()  # the file that is left is no obstacle


def test_lock_file_that_its_owner_is_taking_away_is_not_a_lock(folder, monkeypatch):
    endpoints = Endpoints(folder, "panda")
    path = folder / "panda.lock"
    real = os.path.samestat
    seen = []

    def vanishing(one, two):
        if not seen:  # just after it was locked, another process has unlinked it
            path.unlink()
            path.touch()
            two = path.stat()
        seen.append(real(one, two))
        return seen[-1]

    monkeypatch.setattr(os.path, "samestat", vanishing)
    lock = endpoints.lock()
    assert seen == [False, True]
    assert real(os.fstat(lock.fileno()), path.stat())
    lock.close()


def test_folder_where_a_socket_should_be_is_an_error_with_its_name(tmp_path):
    (tmp_path / "arm.sock").mkdir()
    with pytest.raises(EndpointError, match=r"arm\.sock is in the way of a socket: Is a directory"):
        Endpoints(tmp_path, "arm").remove_sockets()
