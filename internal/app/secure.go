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

// Trust returns how to verify nodes.
func Trust(s config.Settings) identity.Trust {
	if file := s.CAFile(); file != "" {
		return identity.TrustFile(file)
	}
	return nil
}

// secure returns a listener with a bounded number of connections, and with TLS if configured.
func (s *service) secure(l net.Listener) (net.Listener, error) {
	limited := limitConns(l, s.settings.API.Proxies)
	if !s.settings.UsesTLS() {
		return limited, s.checkTransport()
	}
	certificates, err := identity.NewServer(identity.ServerConfig{
		Bundle: s.settings.Cluster.Bundle, Cert: s.settings.API.Cert, Key: s.settings.API.Key, Hosts: s.certificateHosts(), Now: time.Now, Log: s.Log,
	})
	if err != nil {
		return nil, freshet.WithHint(err, "give the directory node of freshet cluster init with --bundle, or a certificate and its key with --tls-cert and --tls-key")
	}
	s.address.URL = strings.Replace(s.address.URL, "http://", "https://", 1)
	if s.settings.Cluster.Bundle == "" {
		s.address.CA = certificates.CA()
	} else if s.address.CAFile, err = filepath.Abs(filepath.Join(s.settings.Cluster.Bundle, identity.CAName)); err != nil {
		return nil, err
	}
	return tls.NewListener(limited, certificates.Config()), s.checkTransport()
}

// certificateHosts returns the names and addresses for the certificate of this node.
func (s *service) certificateHosts() []string {
	hosts := append([]string{"localhost", "127.0.0.1", "::1"}, s.hostNames()...)
	if name, err := os.Hostname(); err == nil {
		hosts = append(hosts, name)
	}
	for _, known := range []string{s.settings.Cluster.Advertise, s.settings.API.URL} {
		if u, err := url.Parse(known); err == nil {
			hosts = append(hosts, u.Hostname())
		}
	}
	if tcp, ok := s.listenAddr.(*net.TCPAddr); !ok || !tcp.IP.IsUnspecified() {
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

// checkTransport returns an error if nodes and workers on other machines would use plain HTTP
// without the setting that permits it.
func (s *service) checkTransport() error {
	at := s.advertised()
	others := s.Once == nil && (s.settings.Store != "" || s.settings.Cluster.TokenFile != "")
	if !others || s.settings.Cluster.Insecure || !IsRemoteHTTP(at) {
		return nil
	}
	return freshet.WithHint(errors.New("other machines would send passwords and pages to "+at+" unencrypted"),
		"create certificates with freshet cluster init and use --bundle DIR; or use --tls-cert and --tls-key, or --advertise https://... of a proxy; --insecure-cluster permits http")
}

// IsRemoteHTTP reports whether an address uses plain HTTP to another machine.
func IsRemoteHTTP(at string) bool {
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "http" || u.Hostname() == "localhost" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err != nil || !ip.Unmap().IsLoopback()
}
