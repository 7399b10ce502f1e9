package identity

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"slices"
)

// A Trust returns the TLS configuration with which a client verifies a host. A nil Trust uses the
// certificates that the system trusts.
type Trust func(host string) (*tls.Config, error)

// TrustFile trusts the CA certificates in a file, which it reads for every connection.
func TrustFile(path string) Trust {
	return func(host string) (*tls.Config, error) {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read the CA: %w", err)
		}
		return configOf(text, host)
	}
}

// TrustPEM trusts CA certificates in PEM format.
func TrustPEM(text []byte) Trust {
	return func(host string) (*tls.Config, error) { return configOf(text, host) }
}

func configOf(text []byte, host string) (*tls.Config, error) {
	all, err := parseCertificates(text)
	if err != nil {
		return nil, err
	}
	c := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: host, MinVersion: tls.VersionTLS12}
	for _, cert := range all {
		c.RootCAs.AddCert(cert)
		if slices.Contains(cert.Subject.Organization, caOrganization) {
			c.ServerName = nodeName
		}
	}
	return c, nil
}
