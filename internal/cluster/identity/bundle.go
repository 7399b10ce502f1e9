package identity

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"freshet/internal/fetch/secrets"
	"freshet/internal/freshet"
)

// The files of a bundle. Only the bundle of nodes has the key of the CA, secret.key and the
// password.
const (
	CAName       = "ca.crt"
	caKeyName    = "ca.key"
	TokenName    = "worker.token"
	PasswordName = "admin.password"
	JoinName     = "join"
)

// Create writes the shared files of a cluster: dir/node for nodes and dir/worker for workers. The
// latter has the addresses that workers join.
func Create(dir string, join []string, now time.Time) error {
	node, worker := filepath.Join(dir, "node"), filepath.Join(dir, "worker")
	for _, path := range []string{node, worker} {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return freshet.WithHint(fmt.Errorf("%s: %w", path, statError(err)), "a cluster has one bundle: copy the existing one, or choose another directory with --dir")
		}
	}
	cert, key, err := newCA(now)
	if err != nil {
		return err
	}
	token := rand.Text() + rand.Text()
	files := map[string]string{
		filepath.Join(node, CAName): string(cert), filepath.Join(node, caKeyName): string(key), filepath.Join(node, TokenName): token + "\n",
		filepath.Join(node, PasswordName): strings.ToLower(rand.Text()) + "\n",
		filepath.Join(worker, CAName):     string(cert), filepath.Join(worker, TokenName): token + "\n",
	}
	if len(join) > 0 {
		files[filepath.Join(worker, JoinName)] = strings.Join(join, "\n") + "\n"
	}
	for _, path := range []string{node, worker} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return err
		}
	}
	for path, text := range files {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return secrets.Open(node).MakeKey()
}

// statError returns the error for a directory that must not exist, given that of os.Stat.
func statError(err error) error {
	if err == nil {
		return fs.ErrExist
	}
	return err
}

// ReadJoin returns the addresses that workers with a bundle join, or nil if it has none.
func ReadJoin(dir string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(dir, JoinName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.Fields(string(text)), err
}
