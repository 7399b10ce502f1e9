package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"freshet/internal/freshet"
)

// ownerName is the file in the data directory of a node on PostgreSQL that names the database.
// Without it, a command without --store would create an empty store there.
const ownerName = "freshet.store"

// ShownStore returns the URL of the database without its password; "" if the data is in a file.
func (s *Settings) ShownStore() string {
	if s.Store == "" {
		return ""
	}
	return withoutPassword(s.Store)
}

// NoteStore records in the data directory which database its node uses, without the password.
func (s *Settings) NoteStore() error {
	path := filepath.Join(s.Data, ownerName)
	err := os.WriteFile(path+".new", []byte(s.ShownStore()+"\n"), 0o600)
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("record the database in the data directory: %w", err)
	}
	return nil
}

// NotedStore returns the database that NoteStore recorded in a data directory, or "".
func NotedStore(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, ownerName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !isNoDir(dir) {
		return "", fmt.Errorf("read which database the data directory belongs to: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// isNoDir reports whether a path is a file. Opening the store then returns the error.
func isNoDir(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && !info.IsDir()
}

// ForgetStore removes the record of NoteStore.
func ForgetStore(dir string) error {
	err := os.Remove(filepath.Join(dir, ownerName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// CheckOwner returns an error for a store in a data directory that belongs to a node on PostgreSQL.
func (s *Settings) CheckOwner() error {
	if s.Store != "" {
		return nil
	}
	owner, err := NotedStore(s.Data)
	if err != nil || owner == "" {
		return err
	}
	return freshet.WithHint(fmt.Errorf("the data directory %s belongs to a node on %s", s.Data, owner),
		"give --store "+owner+" (with its password, or FRESHET_STORE), or the address of the daemon with --server; for a store of its own, choose another directory with --data")
}
