"""Keys on disk: modes, the allow-list, renewal, and what is refused."""

import os
import stat

import pytest

from torqued.client.keys import find_keys
from torqued.server.access.allow_list import AllowList, KeysError
from torqued.server.access.keys import KeyFolder, KeyPair, default_keys
from torqued.tools.cli.main import main


@pytest.fixture
def keys(tmp_path):
    return KeyFolder(tmp_path / "keys")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"TORQUED_KEYS": "/k", "XDG_CONFIG_HOME": "/x"}, "/k"),
        ({"XDG_CONFIG_HOME": "/x"}, "/x/torqued/keys"),
        ({"XDG_CONFIG_HOME": ""}, "/home/me/.config/torqued/keys"),
        ({"XDG_CONFIG_HOME": "relative"}, "/home/me/.config/torqued/keys"),
        ({}, "/home/me/.config/torqued/keys"),
    ],
)
def test_folder_is_where_settings_of_the_user_are(environment, expected, monkeypatch):
    for name in ("TORQUED_KEYS", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in ({"HOME": "/home/me"} | environment).items():
        monkeypatch.setenv(name, value)
    assert str(default_keys()) == expected


def names(keys):
    return {client.name: client.rights for client in keys.allowed.clients().values()}


def test_secrets_are_for_their_user_alone(keys):
    keys.new("arm", "command")
    assert stat.S_IMODE(keys.folder.stat().st_mode) == 0o700
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in keys.folder.iterdir()}
    assert set(modes) == {"server.key", "server.pub", "arm.key", "allowed.toml", ".lock"}
    assert set(modes.values()) == {0o600}


def test_key_file_is_all_that_a_client_needs(keys):
    client = keys.new("arm", None)
    found = find_keys("tcp://robot:5550", keys.folder / "arm.key", None)
    assert (client.rights, client.public) == ("read", found.public.decode())
    assert found.server.decode() == keys.server().public == KeyFolder(keys.folder).server().public


def test_secret_halves_are_not_in_the_allow_list(keys):
    keys.new("arm", "read")
    text = keys.allowed.path.read_text()
    assert find_keys("tcp://a:1", keys.folder / "arm.key", None).secret.decode() not in text
    assert keys.server().secret not in text


def test_secrets_do_not_show_when_printed(keys):
    keys.new("arm", "read")
    found = find_keys("tcp://a:1", keys.folder / "arm.key", None)
    assert found.secret.decode() not in repr(found)
    assert keys.server().secret not in repr(keys.server())


def test_renewal_replaces_the_key_and_leaves_the_rights(keys):
    old = keys.new("arm", "command")
    with pytest.raises(KeysError, match="--renew"):
        keys.new("arm", "read")
    new = keys.new("arm", None, renew=True)
    assert new.public != old.public
    assert names(keys) == {"arm": "command"}
    assert old.public.encode() not in keys.allowed.clients()
    server = keys.server().public
    assert keys.server(renew=True).public != server


def test_public_key_from_elsewhere_is_allowed_and_revoked(keys):
    public = KeyPair.new().public
    keys.allow("laptop", public, "read")
    keys.allow("laptop", None, "command")
    assert names(keys) == {"laptop": "command"}
    with pytest.raises(KeysError, match="allowed already, as 'laptop'"):
        keys.allow("again", public, "read")
    with pytest.raises(KeysError, match="its public key is required"):
        keys.allow("unknown", None, "read")
    keys.revoke("laptop")
    assert names(keys) == {}
    with pytest.raises(KeysError, match="allowed: none"):
        keys.revoke("laptop")


@pytest.mark.parametrize("name", ["server", "a/b", "..", "", "a b", "x" * 65, "x" * 300])
def test_names_that_could_meet_other_files_are_refused(keys, name):
    with pytest.raises(KeysError, match="invalid key name"):
        keys.new(name, "read")
    with pytest.raises(KeysError, match="invalid key name"):
        keys.allow(name, KeyPair.new().public, "read")


def test_name_that_is_too_long_is_shown_in_part_and_nothing_is_made(tmp_path, capsys):
    arguments = ["keys", "new", "x" * 300, "--keys", str(tmp_path / "keys")]
    assert main(arguments) != 0
    message = capsys.readouterr().err
    assert "(300 long): allowed are 1 to 64 letters" in message
    assert "Traceback" not in message and "x" * 30 not in message
    assert not (tmp_path / "keys").exists()


def test_key_that_cannot_be_written_is_named(keys, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    keys.server()
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(KeysError, match=r"cannot write key file .*arm\.key: No space left"):
        keys.new("arm", "read")


def entry(public="b" * 40, rights='"read"', since="2026-01-01"):
    return f'[arm]\npublic = "{public}"\nrights = {rights}\nsince = {since}\n'


@pytest.mark.parametrize(
    "text, words",
    [
        ("[oops", "cannot read"),
        ("", "is empty"),
        ("arm = 1\n", "requires public, rights and since"),
        (entry(rights='"all"'), "rights 'all', allowed: read, command, administrate"),
        (entry(public="short"), "public key"),
        (entry(since='"now"'), "no date"),
        (entry("a" * 40) + entry("a" * 40).replace("arm", "leg"), "two names"),
    ],
)
def test_allow_list_that_makes_no_sense_is_refused(tmp_path, text, words):
    path = tmp_path / "allowed.toml"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(KeysError, match=words):
        AllowList(path).read()


def test_allow_list_that_others_may_write_is_refused(keys):
    keys.new("arm", "read")
    keys.allowed.path.chmod(0o620)
    with pytest.raises(KeysError, match=r"allowed\.toml has mode 0620 .*other users could add"):
        keys.allowed.read()
    keys.allowed.path.chmod(0o600)
    keys.folder.chmod(0o770)
    with pytest.raises(KeysError, match=r"keys has mode 0770 .*other users could add"):
        keys.allowed.read()


def test_allow_list_that_is_gone_allows_nobody(keys):
    keys.new("arm", "read")
    assert names(keys) == {"arm": "read"}
    keys.allowed.path.unlink()
    assert names(keys) == {}


def test_allow_list_is_the_same_map_until_it_changes(keys):
    keys.new("arm", "read")
    clients = keys.allowed.clients()
    assert keys.allowed.clients() is clients
    keys.allow("arm", None, "command")
    assert keys.allowed.clients() is not clients


def test_command_makes_lists_and_revokes(keys, capsys):
    folder = ["--keys", str(keys.folder)]

    def run(*words):
        code = main(["keys", *words, *folder])
        return code, capsys.readouterr()

    assert "is empty" in run("list")[1].out
    assert str(keys.folder / "arm.key") in run("new", "arm", "--rights", "command")[1].out
    assert run("server")[1].out.strip() == keys.server().public
    public = KeyPair.new().public
    assert run("allow", "laptop", "--public", public, "--rights", "read")[0] == 0
    listed = run("list")[1].out.splitlines()
    assert [line.split()[:2] for line in listed] == [["arm", "command"], ["laptop", "read"]]
    assert listed[1].endswith(public)
    assert run("revoke", "arm")[0] == 0
    assert names(keys) == {"laptop": "read"}
    code, printed = run("revoke", "arm")
    assert (code, "not on the allow-list" in printed.err) == (2, True)
