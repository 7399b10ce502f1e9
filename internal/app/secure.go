package app

import (
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"freshet/internal/app/config"
	"freshet/internal/cluster/identity"
	"freshet/internal/freshet"
)

// Trust returns how nodes are verified.
func Trust(s config.Settings) identity.Trust {
	if file := s.CAFile(); file != "" {
		return identity.TrustFile(file)
	}
	return nil
}

// secure returns a listener of the API with bounded connections, and with TLS if the settings say so.
func (s *service) secure(l net.Listener) (net.Listener, error) {
	limited := limitConns(l, s.settings.API.Proxies)
	if !s.settings.UsesTLS() {
		return limited, s.checkPlain()
	}
	certificates, err := identity.NewServer(identity.ServerConfig{
		Bundle: s.settings.Cluster.Bundle, Cert: s.settings.API.Cert, Key: s.settings.API.Key, Hosts: s.certified(), Now: time.Now, Log: s.Log,
	})
	if err != nil {
		return nil, freshet.WithHint(err, "give the directory node of freshet cluster init with --bundle, or a certificate and its key with --tls-cert and --tls-key")
	}
	s.where.URL = strings.Replace(s.where.URL, "http://", "https://", 1)
	if s.settings.Cluster.Bundle == "" {
		s.where.CA = certificates.CA()
	} else if s.where.CAFile, err = filepath.Abs(filepath.Join(s.settings.Cluster.Bundle, identity.CAName)); err != nil {
		return nil, err
	}
	return tls.NewListener(limited, certificates.Config()), s.checkPlain()
}

// certified returns by which names and addresses this node may be reached.
func (s *service) certified() []string {
	hosts := append([]string{"localhost", "127.0.0.1", "::1"}, s.hostNames()...)
	if name, err := os.Hostname(); err == nil {
		hosts = append(hosts, name)
	}
	for _, known := range []string{s.settings.Cluster.Advertise, s.settings.API.URL} {
		if u, err := url.Parse(known); err == nil {
			hosts = append(hosts, u.Hostname())
		}
	}
	if tcp, ok := s.at.(*net.TCPAddr); !ok || !tcp.IP.IsUnspecified() {
		return hosts
	}
	if all, err := net.InterfaceAddrs(); err == nil {
		for _, a := range all {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				hosts = append(hosts, p.Addr().String())
			}
		}
	}
	return hosts
}

// checkPlain refuses to have nodes and workers on other machines use http, unless somebody wants that.
func (s *service) checkPlain() error {
	at := s.advertised()
	others := s.Once == nil && (s.settings.Store != "" || s.settings.Cluster.TokenFile != "")
	if !others || s.settings.Cluster.Insecure || !PlainBeyondLoopback(at) {
		return nil
	}
	return freshet.WithHint(errors.New("nodes and workers on other machines would reach this one at "+at+", and everybody on the way could read passwords and pages"),
		"make certificates with freshet cluster init, and give --bundle DIR; or give --tls-cert and --tls-key, or --advertise https://... of a proxy; --insecure-cluster allows http")
}

// PlainBeyondLoopback reports whether an address is one of http at another machine.
func PlainBeyondLoopback(at string) bool {
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "http" || u.Hostname() == "localhost" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err != nil || !ip.Unmap().IsLoopback()
}
