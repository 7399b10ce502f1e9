package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"freshet/internal/freshet"
)

// fileName is what a configuration file is called that is found without being named.
const fileName = "freshet.yaml"

// Find returns the configuration file that is read if none is named: the first that
// there is of freshet.yaml in the working directory, in $XDG_CONFIG_HOME/freshet or
// ~/.config/freshet, and in /etc/freshet. It returns "" if there is none.
//
// One in the working directory that another user could have put there is refused: it
// can say where data is kept and where changes are sent.
func Find(env func(string) string) (string, error) {
	for _, path := range places(env) {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			continue
		case err != nil:
			return "", freshet.WithHint(fmt.Errorf("look for a configuration file: %w", err), "choose a file with --config FILE, or use none with --config none")
		case !filepath.IsAbs(path) && foreign(info):
			return "", freshet.WithHint(fmt.Errorf("./%s was not read: it belongs to another user, or anyone can write to it", path),
				"to read it anyway, use --config ./"+path+"; to read no file, use --config none")
		}
		return path, nil
	}
	return "", nil
}

// places returns where a configuration file is looked for, in this order.
func places(env func(string) string) []string {
	found := []string{fileName}
	if dir := env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		found = append(found, filepath.Join(dir, "freshet", fileName))
	} else if home := env("HOME"); home != "" {
		found = append(found, filepath.Join(home, ".config", "freshet", fileName))
	}
	return append(found, filepath.Join("/etc/freshet", fileName))
}
