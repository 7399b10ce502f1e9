package app

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"freshet/internal/auth"
	"freshet/internal/cluster/delivery"
	"freshet/internal/cluster/identity"
	"freshet/internal/fetch"
	"freshet/internal/freshet"
)

// addressName is the file in the data directory that says where the daemon
// that holds it listens.
const addressName = "freshet.addr"

// instanceHeader is in every answer of a daemon and names its run, so that a
// file left behind by a killed daemon does not lead to another one that has
// since taken its port.
const instanceHeader = delivery.RunHeader

// An Address is where a daemon listens, and the name of its run.
type Address struct {
	URL, Instance string
	Token         string // for those that may read the file; "" if none is needed
	CA            []byte // certificates that verify the daemon, as PEM; nil if it does not use TLS or CAFile has them
	CAFile        string
	Once          bool // the daemon ends after one round of polls
}

// newAddress returns the address of a listener as seen from this machine.
func newAddress(at net.Addr) Address {
	where := at.String()
	if tcp, ok := at.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		where = net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
	}
	return Address{URL: "http://" + where, Instance: rand.Text(), Token: auth.NewSecret(auth.LocalPrefix)}
}

// Trust returns how to verify the daemon.
func (a Address) Trust() identity.Trust {
	switch {
	case a.CAFile != "":
		return identity.TrustFile(a.CAFile)
	case a.CA != nil:
		return identity.TrustPEM(a.CA)
	}
	return nil
}

// Prefixes of the lines with the certificates and with the name of their file.
const (
	caLine     = "ca "
	caFileLine = "ca-file "
)

// tokenLine is the prefix of the line with the token.
const tokenLine = "token "

// write writes the address into a data directory.
func (a Address) write(dir string) error {
	path, text := filepath.Join(dir, addressName), a.URL+"\n"+a.Instance+"\n"
	if a.Token != "" {
		text += tokenLine + a.Token + "\n"
	}
	if a.CA != nil {
		text += caLine + base64.StdEncoding.EncodeToString(a.CA) + "\n"
	}
	if a.CAFile != "" {
		text += caFileLine + a.CAFile + "\n"
	}
	if a.Once {
		text += "once\n"
	}
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the address for other commands: %w", err)
	}
	return os.Rename(path+".new", path)
}

// ReadAddress returns the address in a data directory, zero if there is none.
func ReadAddress(dir string) (a Address, err error) {
	text, err := os.ReadFile(filepath.Join(dir, addressName))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return a, nil
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	a.URL = lines[0]
	for i, line := range lines[1:] {
		token, isToken := strings.CutPrefix(line, tokenLine)
		ca, isCA := strings.CutPrefix(line, caLine)
		file, isFile := strings.CutPrefix(line, caFileLine)
		switch {
		case i == 0:
			a.Instance = line
		case isToken:
			a.Token = token
		case isCA:
			a.CA, err = base64.StdEncoding.DecodeString(ca)
		case isFile:
			a.CAFile = file
		case line == "once":
			a.Once = true
		}
	}
	return a, err
}

// removeAddress removes the address.
func removeAddress(dir string) error {
	err := os.Remove(filepath.Join(dir, addressName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Answers reports whether the daemon that wrote its address is still there.
func (a Address) Answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL+"/healthz", nil)
	if err != nil {
		return false
	}
	resp, err := fetch.TrustedBy(5*time.Second, a.Trust()).Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.Header.Get(instanceHeader) == a.Instance
}

// sign adds the instance to every response of h.
func (a Address) sign(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(instanceHeader, a.Instance)
		h.ServeHTTP(w, r)
	})
}

// listen opens the port of the API.
func listen(at string) (net.Listener, error) {
	l, err := net.Listen("tcp", at)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, freshet.WithHint(fmt.Errorf("listen on %s: the port is in use: %w", at, syscall.EADDRINUSE),
			"stop the program that uses it, or choose another port with --listen 127.0.0.1:8081 (port 0 picks a free one)")
	case errors.Is(err, syscall.EACCES):
		return nil, freshet.WithHint(fmt.Errorf("listen on %s: not permitted: %w", at, syscall.EACCES), "choose a port above 1023 with --listen")
	}
	return nil, freshet.WithHint(fmt.Errorf("listen: %w", err), "use an address of this machine with --listen, such as 127.0.0.1:8080")
}

// ownAddress returns the address of a listener as a fetcher knows it.
func ownAddress(l net.Listener) netip.AddrPort {
	own, err := netip.ParseAddrPort(l.Addr().String())
	if err != nil {
		return netip.AddrPort{}
	}
	return own
}
