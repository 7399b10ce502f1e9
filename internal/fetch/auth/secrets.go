package auth

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"freshet/internal/fetch/secrets"
	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
)

// Secrets are where references to secrets are looked up.
type Secrets struct {
	Env   func(string) string
	Vault *secrets.Vault // nil means that there is none
}

// Look returns what a reference stands for, if it may be sent to a host. A foreign
// reference is one that came over the API: it must not have files and variables of this
// machine sent, nor secrets that are not meant for the host.
func (s Secrets) Look(r profile.Reference, host string, foreign bool) (string, error) {
	text, _, err := s.look(r, host, foreign)
	return text, err
}

// look is Look, and returns the hosts that the secret is bound to, if it is bound to any.
func (s Secrets) look(r profile.Reference, host string, foreign bool) (string, []string, error) {
	text, hosts, err := s.Peek(r, foreign)
	if err != nil || r.Kind != profile.SealedSecret {
		return text, nil, err
	}
	hint := "set it again with freshet settings secret set " + r.Name + " --host " + host
	switch {
	case len(hosts) == 0 && foreign:
		return "", nil, freshet.WithHint(errors.New("the secret names no hosts, so only the configuration file can use it"), hint)
	case len(hosts) > 0 && !slices.Contains(hosts, host):
		return "", nil, freshet.WithHint(fmt.Errorf("the secret must not be sent to %s; its hosts are %v", host, hosts), hint)
	}
	return text, hosts, nil
}

// Peek returns what a reference stands for, and the hosts that it may be sent to if it
// names any. A caller that sends it has to use Look.
func (s Secrets) Peek(r profile.Reference, foreign bool) (text string, hosts []string, err error) {
	switch {
	case r.Kind == profile.SealedSecret && s.Vault == nil:
		return "", nil, errors.New("there is no data directory to keep secrets in")
	case r.Kind == profile.SealedSecret:
		e, value, err := s.Vault.Get(r.Name)
		return string(value), e.Hosts, err
	case foreign:
		return "", nil, errors.New("only the configuration file can use files and environment variables")
	case r.Kind == profile.FileSecret:
		text, err = readSecret(r.Name)
		return text, nil, err
	case r.Kind == profile.EnvSecret:
		if text = s.Env(r.Name); text == "" {
			return "", nil, errors.New("the environment variable is not set")
		}
		return text, nil, nil
	}
	return "", nil, errors.New("only ${env:NAME}, ${file:/path} and ${secret:NAME} can be used here")
}

// readSecret returns the content of a file, without the line break at its end.
func readSecret(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, secrets.MaxSecret+1))
	switch {
	case err != nil:
		return "", err
	case len(text) > secrets.MaxSecret:
		return "", fmt.Errorf("the file is longer than %d bytes", secrets.MaxSecret)
	}
	trimmed := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if trimmed == "" {
		return "", errors.New("the file is empty")
	}
	return trimmed, nil
}
