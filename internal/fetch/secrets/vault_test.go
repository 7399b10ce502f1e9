package secrets_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"freshet/internal/fetch/secrets"
	"freshet/internal/freshet"
)

func TestVault(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	v := secrets.Open(dir)
	if list, err := v.List(); err != nil || len(list) != 0 {
		t.Fatalf("a new vault lists %v, %v", list, err)
	}
	if _, _, err := v.Get("a"); !errors.Is(err, freshet.ErrNotFound) {
		t.Errorf("a secret that was not set is %v", err)
	}
	for name, value := range map[string]string{"b": "two", "a": "one"} {
		if err := v.Set(secrets.Entry{Name: name, Hosts: []string{name + ".example"}}, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	if err := v.Set(secrets.Entry{Name: "a"}, []byte("changed")); err != nil {
		t.Fatal(err)
	}
	e, value, err := secrets.Open(dir).Get("a")
	if err != nil || string(value) != "changed" || len(e.Hosts) != 0 {
		t.Errorf("the secret is %q for %v, %v", value, e.Hosts, err)
	}
	list, err := v.List()
	if err != nil || len(list) != 2 || list[0].Name != "a" || list[1].Hosts[0] != "b.example" {
		t.Errorf("the list is %v, %v", list, err)
	}
	if err := v.Remove("a"); err != nil {
		t.Fatal(err)
	}
	if err := v.Remove("a"); !errors.Is(err, freshet.ErrNotFound) {
		t.Errorf("removed again: %v", err)
	}
	for _, e := range []secrets.Entry{{Name: "../x"}, {Name: ""}} {
		if v.Set(e, []byte("x")) == nil {
			t.Errorf("%q is taken as a name", e.Name)
		}
	}
	if v.Set(secrets.Entry{Name: "x"}, nil) == nil || v.Set(secrets.Entry{Name: "x"}, make([]byte, secrets.MaxSecret+1)) == nil {
		t.Error("an empty or endless secret is taken")
	}
}

func TestFilesAreForTheOwner(t *testing.T) {
	dir := t.TempDir()
	v := secrets.Open(dir)
	if err := v.Set(secrets.Entry{Name: "a"}, []byte("canary-in-the-mine")); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 3 {
		t.Fatalf("the files are %v, %v", files, err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", f.Name(), info.Mode())
		}
		text, _ := os.ReadFile(filepath.Join(dir, f.Name()))
		if bytes.Contains(text, []byte("canary")) {
			t.Errorf("%s holds the secret in plain text", f.Name())
		}
	}
	if err := os.Chmod(filepath.Join(dir, "secret.key"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := v.Get("a"); err == nil || !strings.Contains(freshet.HintOf(err), "chmod 600") {
		t.Errorf("a key that others can read is taken: %v", err)
	}
}

func TestSealedIsBoundToItsLabel(t *testing.T) {
	v := secrets.Open(t.TempDir())
	sealed, err := v.Seal("mine", []byte("text"))
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := v.Unseal("mine", sealed); err != nil || string(plain) != "text" {
		t.Errorf("unsealed as %q, %v", plain, err)
	}
	if _, err := v.Unseal("other", sealed); err == nil {
		t.Error("it opens under another label")
	}
	sealed[len(sealed)-1] ^= 1
	if _, err := v.Unseal("mine", sealed); err == nil {
		t.Error("it opens although it was altered")
	}
	if _, err := v.Unseal("mine", nil); err == nil {
		t.Error("nothing opens")
	}
}

// A host that is added to the file by somebody who does not know the key does not
// open the secret to that host.
func TestHostsCannotBeAltered(t *testing.T) {
	dir := t.TempDir()
	v := secrets.Open(dir)
	if err := v.Set(secrets.Entry{Name: "a", Hosts: []string{"good.example"}}, []byte("text")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "secrets.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.ReplaceAll(text, []byte("good.example"), []byte("evil.example")), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := v.Get("a"); err == nil {
		t.Error("the secret is given out for another host")
	}
}

func TestOneCommandAtATime(t *testing.T) {
	dir := t.TempDir()
	v := secrets.Open(dir)
	// The file of a lock is left behind, as by a command that was killed.
	if err := os.WriteFile(filepath.Join(dir, "secrets.json.lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := v.Set(secrets.Entry{Name: "a"}, []byte("one")); err != nil {
		t.Fatalf("a lock that nobody holds is in the way: %v", err)
	}
	err := v.Locked(func() error {
		if err := secrets.Open(dir).Set(secrets.Entry{Name: "b"}, []byte("two")); err == nil || !strings.Contains(err.Error(), "another command") {
			t.Errorf("while another command changes the secrets, one is set with %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Remove("a"); err != nil {
		t.Errorf("after the other command: %v", err)
	}
}

// FuzzVault reads any file as that of a vault, and any text as a sealed one.
func FuzzVault(f *testing.F) {
	dir := f.TempDir()
	if err := secrets.Open(dir).Set(secrets.Entry{Name: "a", Hosts: []string{"a.example"}}, []byte("one")); err != nil {
		f.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(dir, "secrets.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file)
	f.Add([]byte(`{"a": 1}`))
	f.Add([]byte(`[{"name": "a", "sealed": ""}]`))
	f.Fuzz(func(t *testing.T, file []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "secrets.json"), file, 0o600); err != nil {
			t.Fatal(err)
		}
		v := secrets.Open(dir)
		if _, err := v.Unseal("a", file); err == nil {
			t.Error("what nobody sealed is opened")
		}
		list, err := v.List()
		if _, value, got := v.Get("a"); got == nil {
			t.Errorf("what nobody sealed is the secret %q", value)
		}
		if set := v.Set(secrets.Entry{Name: "new"}, []byte("value")); set != nil {
			if err == nil {
				t.Errorf("a vault that can be read cannot be written: %v", set)
			}
			left, _ := os.ReadFile(filepath.Join(dir, "secrets.json"))
			if !bytes.Equal(left, file) {
				t.Error("what could not be written is lost")
			}
			return
		}
		after, err := v.List()
		if err != nil || len(after) < len(list) {
			t.Errorf("of %d secrets %d are left: %v", len(list), len(after), err)
		}
	})
}
