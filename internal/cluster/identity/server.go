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

// A ServerConfig configures a Server. Only Now is required.
type ServerConfig struct {
	Bundle    string   // directory with the CA; "" means a new CA, which only commands on this machine trust
	Cert, Key string   // files with the certificate for clients that do not ask for a node; "" means a certificate of the CA
	Hosts     []string // names and addresses of the node
	Now       func() time.Time
	Log       *slog.Logger
}

// A Server presents the certificates of a node. It renews the node's certificate before it expires,
// and rereads files that change.
type Server struct {
	cfg ServerConfig

	mu          sync.Mutex
	ca          *authority
	caStamp     string // stamp of the files that ca was read from
	leaf        *tls.Certificate
	public      *tls.Certificate
	publicStamp string
}

// NewServer returns a Server. It returns an error if a file cannot be read.
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

// CA returns the certificates with which clients verify this node, as PEM.
func (s *Server) CA() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ca.pem
}

// Config returns the configuration of a listener. It offers only HTTP/1.1: workers hijack their
// connections, and connections are counted per client.
func (s *Server) Config() *tls.Config {
	return &tls.Config{GetCertificate: s.certificate, NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12}
}

// certificate returns the certificate for a client.
func (s *Server) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readCA(); err != nil { // the old one remains valid
		s.cfg.Log.Warn("rereading the CA of the bundle failed; the old one stays in use", "err", err)
	}
	if err := s.readPublic(); err != nil {
		s.cfg.Log.Warn("rereading the certificate failed; the old one stays in use", "err", err)
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
	if at == s.caStamp {
		return nil
	}
	s.caStamp = at
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
	if at == s.publicStamp {
		return nil
	}
	s.publicStamp = at
	pair, err := tls.LoadX509KeyPair(s.cfg.Cert, s.cfg.Key)
	if err != nil {
		return err
	}
	s.public = &pair
	return nil
}

// stamp returns a string that changes when one of the files changes.
func stamp(paths ...string) (s string) {
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			s += fmt.Sprint(info.ModTime().UnixNano(), info.Size(), ";")
		}
	}
	return s
}
