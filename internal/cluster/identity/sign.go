package identity

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"freshet/internal/freshet"
)

// Header is the request header with the signature of a node.
const Header = "Freshet-Node"

// CallerHeader tells another node how this node authenticated the caller of a request that carries
// no credential. It counts only if it is signed.
const CallerHeader = "Freshet-Caller"

// signedHeaders are the header fields that a signature covers.
var signedHeaders = []string{"Authorization", "Cookie", "Content-Type", "If-Match", "Idempotency-Key", "X-Forwarded-For", "X-Forwarded-Proto", CallerHeader}

// A Signer signs the requests of a node. Its key never leaves the process; other nodes read the
// public key from the database.
type Signer struct {
	key  ed25519.PrivateKey
	sent atomic.Uint64
}

// NewSigner returns a Signer with a new key.
func NewSigner() *Signer {
	seed := make([]byte, ed25519.SeedSize)
	rand.Read(seed) // never fails
	return &Signer{key: ed25519.NewKeyFromSeed(seed)}
}

// Public returns the public key, with which other nodes verify signatures.
func (s *Signer) Public() freshet.Hash { return freshet.Hash(s.key.Public().(ed25519.PublicKey)) }

// Sign signs a request with the given body to the node that advertises the address to. Epoch is
// that of the leader that sends or receives the request. What Sign covers must not change
// afterwards.
func (s *Signer) Sign(r *http.Request, to string, epoch int64, body []byte) {
	c := claim{node: s.Public(), epoch: epoch, number: s.sent.Add(1), digest: sha256.Sum256(body)}
	signature := ed25519.Sign(s.key, c.message(r, to))
	r.Header.Set(Header, fmt.Sprintf("%x %d %d %x %x", c.node[:], c.epoch, c.number, c.digest, signature))
}

// A claim is what a signature covers beside the request itself.
type claim struct {
	node   freshet.Hash // public key of the node
	epoch  int64
	number uint64 // sequence number of the request
	digest [sha256.Size]byte
}

// parseClaim parses the value of Header.
func parseClaim(header string) (c claim, signature []byte, err error) {
	var node, digest []byte
	if _, err = fmt.Sscanf(header, "%x %d %d %x %x", &node, &c.epoch, &c.number, &digest, &signature); err != nil {
		return c, nil, err
	}
	if len(node) != len(c.node) || len(digest) != len(c.digest) || len(signature) != ed25519.SignatureSize {
		return c, nil, fmt.Errorf("%s: a part has the wrong length", Header)
	}
	copy(c.node[:], node)
	copy(c.digest[:], digest)
	return c, signature, nil
}

// message returns the signed bytes. They include the receiver, so that a request to one node cannot
// be sent to another.
func (c claim) message(r *http.Request, to string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "freshet node 2\n%q\n%s %s\n%d %d %s\n", to, r.Method, r.URL.RequestURI(), c.epoch, c.number, hex.EncodeToString(c.digest[:]))
	for _, name := range signedHeaders {
		fmt.Fprintf(&b, "%s: %q\n", name, strings.Join(r.Header.Values(name), "\x00"))
	}
	return b.Bytes()
}
