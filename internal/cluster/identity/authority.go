package identity

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// nodeName is a DNS name in the certificate of every node. Nodes, workers and commands that trust
// the CA of a bundle verify this name, so the address of a node does not matter.
const nodeName = "node.freshet.internal"

// caOrganization marks the CA of a bundle, whose certificates are verified for nodeName.
const caOrganization = "Freshet cluster"

const (
	caLife   = 10 * 365 * 24 * time.Hour
	leafLife = 7 * 24 * time.Hour
	skew     = 24 * time.Hour // largest expected difference between clocks
)

// An authority is a CA that issues certificates to nodes.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
	pem  []byte // all trusted certificates
}

// newCA returns a new CA certificate and its key, as PEM.
func newCA(now time.Time) (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	is := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{Organization: []string{caOrganization}, CommonName: "Freshet cluster CA " + rand.Text()[:8]},
		NotBefore: now.Add(-skew), NotAfter: now.Add(caLife), IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, is, is, private.Public(), private)
	if err != nil {
		return nil, nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), nil
}

func serial() *big.Int {
	b := make([]byte, 16)
	rand.Read(b) // never fails
	return new(big.Int).SetBytes(b)
}

// readAuthority reads the CA of a bundle. The file may have more certificates to trust while one CA
// replaces another.
func readAuthority(dir string) (*authority, error) {
	cert, err := os.ReadFile(filepath.Join(dir, CAName))
	if err != nil {
		return nil, err
	}
	key, err := os.ReadFile(filepath.Join(dir, caKeyName))
	if err != nil {
		return nil, err
	}
	return parseAuthority(cert, key)
}

func parseAuthority(cert, key []byte) (*authority, error) {
	block, _ := pem.Decode(key)
	if block == nil {
		return nil, errors.New(caKeyName + " has no private key in PEM format")
	}
	private, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", caKeyName, err)
	}
	signer, ok := private.(crypto.Signer)
	if !ok {
		return nil, errors.New(caKeyName + " cannot sign")
	}
	all, err := parseCertificates(cert)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		if public, ok := c.PublicKey.(interface{ Equal(crypto.PublicKey) bool }); ok && public.Equal(signer.Public()) {
			return &authority{cert: c, key: signer, pem: cert}, nil
		}
	}
	return nil, errors.New(CAName + " has no certificate for the key in " + caKeyName)
}

func parseCertificates(text []byte) (all []*x509.Certificate, err error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", CAName, err)
		}
		all = append(all, c)
	}
	if len(bytes.TrimSpace(text)) == 0 || len(all) == 0 {
		return nil, errors.New("no certificate in PEM format")
	}
	return all, nil
}

// issue returns a new certificate for a node with the given host names and addresses.
func (a *authority) issue(hosts []string, now time.Time) (*tls.Certificate, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	is := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{Organization: []string{caOrganization}, CommonName: nodeName}, DNSNames: []string{nodeName},
		NotBefore: now.Add(-skew), NotAfter: now.Add(leafLife), KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range slices.Compact(slices.Sorted(slices.Values(hosts))) {
		if ip := net.ParseIP(host); ip != nil {
			is.IPAddresses = append(is.IPAddresses, ip)
		} else if host != "" {
			is.DNSNames = append(is.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, is, a.cert, private.Public(), a.key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der, a.cert.Raw}, PrivateKey: private, Leaf: leaf}, nil
}
