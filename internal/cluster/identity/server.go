package identity

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A ServerConfig says which certificates a node shows. All but Now is optional.
type ServerConfig struct {
	Bundle    string   // directory with the CA; "" means one of its own, which only commands on this machine know
	Cert, Key string   // files with the certificate for all who do not ask for a node; "" means the node's own
	Hosts     []string // by which the node is reached
	Now       func() time.Time
	Log       *slog.Logger
}

// A Server shows the certificates of a node. It renews its own before it expires, and takes on files that change.
type Server struct {
	cfg ServerConfig

	mu     sync.Mutex
	ca     *authority
	caAt   string // when the files of the CA were last read, as stamp says
	leaf   *tls.Certificate
	public *tls.Certificate
	pubAt  string
}

// NewServer returns a Server. It reads all files once.
func NewServer(cfg ServerConfig) (*Server, error) {
	s := &Server{cfg: cfg}
	if cfg.Bundle == "" {
		cert, key, err := newCA(cfg.Now())
		if err != nil {
			return nil, err
		}
		if s.ca, err = parseAuthority(cert, key); err != nil {
			return nil, err
		}
	}
	if err := s.readCA(); err != nil {
		return nil, fmt.Errorf("read the CA of the bundle: %w", err)
	}
	if err := s.readPublic(); err != nil {
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	return s, nil
}

// CA returns the certificates by which this node is recognised, as PEM.
func (s *Server) CA() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ca.pem
}

// Config returns what a listener goes by. It speaks HTTP/1.1 alone: workers take over their connections, and clients
// are counted by them.
func (s *Server) Config() *tls.Config {
	return &tls.Config{GetCertificate: s.get, NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12}
}

// get returns the certificate that a client is shown.
func (s *Server) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readCA(); err != nil { // the one of before is good still
		s.cfg.Log.Warn("the CA of the bundle cannot be read again", "err", err)
	}
	if err := s.readPublic(); err != nil {
		s.cfg.Log.Warn("the certificate cannot be read again", "err", err)
	}
	if s.public != nil && hello.ServerName != nodeName {
		return s.public, nil
	}
	now := s.cfg.Now()
	if s.leaf == nil || s.leaf.Leaf.NotAfter.Sub(now) < leafLife/3 || s.leaf.Leaf.NotBefore.After(now) {
		leaf, err := s.ca.issue(s.cfg.Hosts, now)
		if err != nil {
			return nil, err
		}
		s.leaf = leaf
	}
	return s.leaf, nil
}

// readCA reads the files of the CA if they have changed.
func (s *Server) readCA() error {
	if s.cfg.Bundle == "" {
		return nil
	}
	at := stamp(filepath.Join(s.cfg.Bundle, CAName), filepath.Join(s.cfg.Bundle, caKeyName))
	if at == s.caAt {
		return nil
	}
	s.caAt = at
	ca, err := readAuthority(s.cfg.Bundle)
	if err != nil {
		return err
	}
	s.ca, s.leaf = ca, nil
	return nil
}

// readPublic reads the files of the certificate if they have changed.
func (s *Server) readPublic() error {
	if s.cfg.Cert == "" {
		return nil
	}
	at := stamp(s.cfg.Cert, s.cfg.Key)
	if at == s.pubAt {
		return nil
	}
	s.pubAt = at
	pair, err := tls.LoadX509KeyPair(s.cfg.Cert, s.cfg.Key)
	if err != nil {
		return err
	}
	s.public = &pair
	return nil
}

// stamp tells files from those of before.
func stamp(paths ...string) (is string) {
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			is += fmt.Sprint(info.ModTime().UnixNano(), info.Size(), ";")
		}
	}
	return is
}
