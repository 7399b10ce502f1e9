package secrets

import (
	"bytes"
	"cmp"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"freshet/internal/filelock"
	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
)

const (
	keyFile   = "secret.key"
	vaultFile = "secrets.json"
	keyBytes  = 32
)

// MaxSecret is the longest secret, in bytes.
const MaxSecret = 64 << 10

// A Vault holds secrets in a data directory. It reads its files whenever it is asked,
// so that what another process sets counts at once.
type Vault struct{ dir string }

// Open returns the vault of a data directory. Nothing is made until something is
// sealed.
func Open(dir string) *Vault { return &Vault{dir: dir} }

// An Entry is a secret without its value.
type Entry struct {
	Name  string    `json:"name"`
	Hosts []string  `json:"hosts,omitempty"` // that it may be sent to; none means those that the configuration file names
	Set   time.Time `json:"set"`
}

// A sealedEntry is a secret as it is on disk.
type sealedEntry struct {
	Entry
	Sealed []byte `json:"sealed"`
}

// label is what a secret is sealed with besides the key: who can write the file but
// not read the key can neither swap two secrets nor open one to another host.
func (e Entry) label() string { return "secret\n" + e.Name + "\n" + strings.Join(e.Hosts, " ") }

// Set keeps a secret under a name, in place of the one that is there.
func (v *Vault) Set(e Entry, value []byte) error {
	switch {
	case !profile.ValidSecretName(e.Name):
		return fmt.Errorf("%.80q cannot name a secret; use up to 64 letters, digits, '.', '_' and '-'", e.Name)
	case len(value) == 0:
		return errors.New("the secret is empty")
	case len(value) > MaxSecret:
		return fmt.Errorf("the secret is longer than %d bytes", MaxSecret)
	}
	if err := os.MkdirAll(v.dir, 0o700); err != nil {
		return err
	}
	return v.locked(func() error {
		all, err := v.read()
		if err != nil {
			return err
		}
		sealed, err := v.Seal(e.label(), value)
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(o sealedEntry) bool { return o.Name == e.Name })
		return v.write(append(all, sealedEntry{e, sealed}))
	})
}

// Remove forgets a secret, or returns ErrNotFound.
func (v *Vault) Remove(name string) error {
	return v.locked(func() error {
		all, err := v.read()
		if err != nil {
			return err
		}
		left := slices.DeleteFunc(slices.Clone(all), func(o sealedEntry) bool { return o.Name == name })
		if len(left) == len(all) {
			return fmt.Errorf("secret %s: %w", name, freshet.ErrNotFound)
		}
		return v.write(left)
	})
}

// List returns the secrets by their names, without their values.
func (v *Vault) List() (list []Entry, err error) {
	all, err := v.read()
	for _, e := range all {
		list = append(list, e.Entry)
	}
	return list, err
}

// Get returns a secret, or ErrNotFound.
func (v *Vault) Get(name string) (Entry, []byte, error) {
	all, err := v.read()
	if err != nil {
		return Entry{}, nil, err
	}
	i := slices.IndexFunc(all, func(e sealedEntry) bool { return e.Name == name })
	if i < 0 {
		return Entry{}, nil, freshet.WithHint(fmt.Errorf("secret %s: %w", name, freshet.ErrNotFound), "set it with freshet settings secret set "+name)
	}
	value, err := v.Unseal(all[i].label(), all[i].Sealed)
	if err != nil {
		return Entry{}, nil, fmt.Errorf("secret %s cannot be decrypted: %w", name, err)
	}
	return all[i].Entry, value, nil
}

// read returns what is in the file, by name.
func (v *Vault) read() (all []sealedEntry, err error) {
	text, err := os.ReadFile(filepath.Join(v.dir, vaultFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("read the secrets: %w", err)
	}
	return all, nil
}

// write puts a new file in the place of the old one.
func (v *Vault) write(all []sealedEntry) error {
	slices.SortFunc(all, func(a, b sealedEntry) int { return cmp.Compare(a.Name, b.Name) })
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return v.replace(vaultFile, text)
}

// replace writes a file for its owner alone, whole or not at all.
func (v *Vault) replace(name string, text []byte) (err error) {
	f, err := os.CreateTemp(v.dir, name+".*") // with mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(v.dir, name))
}

// locked keeps two commands from writing at once: the file that both would replace
// would hold the secrets of only one. The system takes the lock from a command that
// dies; its file stays, and means nothing.
func (v *Vault) locked(write func() error) error {
	f, err := os.OpenFile(filepath.Join(v.dir, vaultFile+".lock"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close() // and unlock
	ours, err := filelock.Try(f)
	switch {
	case err != nil:
		return err
	case !ours:
		return freshet.WithHint(errors.New("another command is changing the secrets"), "try again when it is done")
	}
	return write()
}

// Seal encrypts a text. The label must be known to open it.
func (v *Vault) Seal(label string, plain []byte) ([]byte, error) {
	box, err := v.cipher(true)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, box.NonceSize())
	rand.Read(nonce) // never fails
	return box.Seal(nonce, nonce, plain, []byte(label)), nil
}

// errUnsealed means that a text was not sealed with this key and label.
var errUnsealed = errors.New("it was encrypted with another secret.key, or has been altered")

// ErrNoKey means that nothing can be decrypted, because the directory has no key.
var ErrNoKey = errors.New("there is no secret.key")

// Unseal decrypts what Seal has encrypted.
func (v *Vault) Unseal(label string, sealed []byte) ([]byte, error) {
	box, err := v.cipher(false)
	if err != nil {
		return nil, err
	}
	if len(sealed) < box.NonceSize() {
		return nil, errUnsealed
	}
	plain, err := box.Open(nil, sealed[:box.NonceSize()], sealed[box.NonceSize():], []byte(label))
	if err != nil {
		return nil, errUnsealed
	}
	return plain, nil
}

// cipher returns a cipher with the key, which is made if it is wanted.
func (v *Vault) cipher(make bool) (cipher.AEAD, error) {
	key, err := v.key()
	if errors.Is(err, fs.ErrNotExist) && make {
		key, err = v.newKey()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w in %s", ErrNoKey, v.dir)
	case err != nil:
		return nil, fmt.Errorf("read the key of the secrets: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func (v *Vault) key() ([]byte, error) {
	path := filepath.Join(v.dir, keyFile)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, freshet.WithHint(fmt.Errorf("%s can be read by other users", path), "chmod 600 "+path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	key, err := hex.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil || len(key) != keyBytes {
		return nil, fmt.Errorf("%s does not hold a key of %d bytes", path, keyBytes)
	}
	return key, nil
}

// MakeKey creates the key unless it exists.
func (v *Vault) MakeKey() error {
	if err := os.MkdirAll(v.dir, 0o700); err != nil {
		return err
	}
	_, err := v.cipher(true)
	return err
}

// newKey makes a key. If another process was faster, it is that one's.
func (v *Vault) newKey() ([]byte, error) {
	key := make([]byte, keyBytes)
	rand.Read(key) // never fails
	path := filepath.Join(v.dir, keyFile)
	f, err := os.CreateTemp(v.dir, keyFile+".*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(hex.EncodeToString(key) + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return v.key()
}

// Mac returns a text that only who knows the key can make for a label.
func (v *Vault) Mac(label string) (string, error) {
	key, err := v.key()
	if errors.Is(err, fs.ErrNotExist) {
		key, err = v.newKey()
	}
	if err != nil {
		return "", fmt.Errorf("read the key of the secrets: %w", err)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(label)) // never fails
	return hex.EncodeToString(mac.Sum(nil)[:20]), nil
}

// Fingerprint returns a fingerprint of the key, which does not reveal it; "" if there is no key yet.
func (v *Vault) Fingerprint() (string, error) {
	key, err := v.key()
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the key of the secrets: %w", err)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("fingerprint")) // never fails
	return hex.EncodeToString(mac.Sum(nil)[:16]), nil
}
