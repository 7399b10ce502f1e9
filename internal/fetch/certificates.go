package fetch

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"freshet/internal/freshet/failure"
)

// maxChain bounds how many certificates of a server are returned.
const maxChain = 10

// Certificates connects to a server, through the guard, and returns the certificates that it
// shows: subject, issuer, expiry, and whether they are trusted. Expired ones are returned too.
func (c *Client) Certificates(ctx context.Context, address string) ([]string, error) {
	if _, e := c.egress.guard.parse("https://" + address + "/"); e != nil {
		return nil, e
	}
	d := newDialer(c.egress.config)
	conn, err := d.dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	config := d.tls.Clone()
	config.ServerName, _, _ = net.SplitHostPort(address) // it has been dialled
	config.InsecureSkipVerify = true                     // nothing is sent; the result says whether it is trusted
	secure := tls.Client(conn, config)
	within, cancel := context.WithTimeout(ctx, d.tlsTimeout)
	defer cancel()
	if err := secure.HandshakeContext(within); err != nil {
		if within.Err() != nil && ctx.Err() == nil {
			return nil, fail(failure.TimeoutTLS, "%s did not finish the TLS handshake within %v", address, d.tlsTimeout)
		}
		return nil, tlsFailure(address, err)
	}
	chain := secure.ConnectionState().PeerCertificates
	lines := []string{"trusted: " + trusted(chain, config, c.egress.config.Now())}
	for i, cert := range chain[:min(len(chain), maxChain)] {
		lines = append(lines, "", fmt.Sprintf("certificate %d", i+1))
		lines = append(lines, describe(cert)...)
	}
	return lines, nil
}

// trusted says whether a chain of certificates would be trusted, and why not.
func trusted(chain []*x509.Certificate, config *tls.Config, now time.Time) string {
	between := x509.NewCertPool()
	for _, cert := range chain[1:] {
		between.AddCert(cert)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: config.RootCAs, Intermediates: between, DNSName: config.ServerName, CurrentTime: now})
	if err == nil {
		return "yes"
	}
	if invalid, ok := err.(x509.CertificateInvalidError); ok && invalid.Reason == x509.Expired {
		return "no: expired or not yet valid" // the error says the time, which is another with every poll
	}
	return "no: " + bare(err).Error()
}

func describe(cert *x509.Certificate) []string {
	names := slices.Clone(cert.DNSNames)
	for _, ip := range cert.IPAddresses {
		names = append(names, ip.String())
	}
	slices.Sort(names)
	lines := []string{
		"subject: " + cert.Subject.String(),
		"issuer: " + cert.Issuer.String(),
		"names: " + strings.Join(names[:min(len(names), 100)], " "),
		"serial: " + cert.SerialNumber.Text(16),
		"valid from: " + cert.NotBefore.UTC().Format(time.RFC3339),
		"valid until: " + cert.NotAfter.UTC().Format(time.RFC3339),
		fmt.Sprintf("sha256: %x", sha256.Sum256(cert.Raw)),
	}
	for i, line := range lines {
		lines[i] = tamed{fmt.Errorf("%s", line)}.Error()
	}
	return lines
}
