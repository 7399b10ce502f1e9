package fetch

import (
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// A Digest authenticates requests by digest access authentication (RFC 7616): the password is never sent. It remembers
// what the server challenged with, so that only the first request is refused. It may be used by many goroutines.
type Digest struct {
	User, Password string

	mu        sync.Mutex
	challenge *challenge
	count     uint32 // requests with the nonce of the challenge
}

// A challenge is what a server says of the proof that it wants.
type challenge struct {
	realm, nonce, opaque, algorithm string
	hash                            func() hash.Hash
	session                         bool // the algorithm ends in -sess
	qop                             bool // the server takes the quality of protection auth
	hashedUser                      bool
}

var digestHashes = map[string]func() hash.Hash{
	"": md5.New, "MD5": md5.New, "SHA-256": sha256.New, "SHA-512-256": sha512.New512_256,
}

// header returns the Authorization of a request, "" as long as there was no challenge.
func (d *Digest) header(method string, u *url.URL) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.challenge
	if c == nil {
		return ""
	}
	d.count++
	return c.proof(d.User, d.Password, method, u.RequestURI(), rand.Text(), d.count)
}

// proof returns the Authorization of a request, the count-th with the nonce; own is a nonce of ours.
func (c *challenge) proof(name, password, method, uri, own string, count uint32) string {
	secret := c.sum(name, c.realm, password)
	if c.session {
		secret = c.sum(secret, c.nonce, own)
	}
	user := name
	if c.hashedUser {
		user = c.sum(name, c.realm)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `Digest username=%s, realm=%s, nonce=%s, uri=%s`, quoted(user), quoted(c.realm), quoted(c.nonce), quoted(uri))
	if c.qop {
		nc := fmt.Sprintf("%08x", count)
		fmt.Fprintf(&b, `, response="%s", qop=auth, nc=%s, cnonce="%s"`, c.sum(secret, c.nonce, nc, own, "auth", c.sum(method, uri)), nc, own)
	} else {
		fmt.Fprintf(&b, `, response="%s"`, c.sum(secret, c.nonce, c.sum(method, uri)))
		if c.session {
			fmt.Fprintf(&b, `, cnonce="%s"`, own)
		}
	}
	if c.algorithm != "" {
		b.WriteString(", algorithm=" + c.algorithm)
	}
	if c.opaque != "" {
		b.WriteString(", opaque=" + quoted(c.opaque))
	}
	if c.hashedUser {
		b.WriteString(", userhash=true")
	}
	return b.String()
}

// sum hashes parts with colons between them.
func (c *challenge) sum(parts ...string) string {
	h := c.hash()
	h.Write([]byte(strings.Join(parts, ":")))
	return hex.EncodeToString(h.Sum(nil))
}

// heard keeps the first challenge of a refusal that can be answered, and reports whether there is one.
func (d *Digest) heard(h http.Header) bool {
	for _, line := range h.Values("Www-Authenticate") {
		for _, params := range challenges(line) {
			algorithm := params["algorithm"]
			name, session := strings.CutSuffix(strings.ToUpper(algorithm), "-SESS")
			c := &challenge{
				realm: params["realm"], nonce: params["nonce"], opaque: params["opaque"], algorithm: algorithm,
				hash: digestHashes[name], session: session, hashedUser: strings.EqualFold(params["userhash"], "true"),
			}
			qop, offered := params["qop"]
			for q := range strings.SplitSeq(qop, ",") {
				c.qop = c.qop || strings.EqualFold(strings.TrimSpace(q), "auth")
			}
			if c.hash == nil || c.nonce == "" || offered && !c.qop || !headerText(c.realm+c.nonce+c.opaque+c.algorithm) {
				continue
			}
			d.mu.Lock()
			d.challenge, d.count = c, 0
			d.mu.Unlock()
			return true
		}
	}
	return false
}

// challenges returns the parameters of each challenge for a digest in a line.
func challenges(line string) (all []map[string]string) {
	var params map[string]string
	for line != "" {
		line = strings.TrimLeft(line, " \t,")
		name, rest := token(line)
		if name == "" {
			return all
		}
		value, ok := strings.CutPrefix(strings.TrimLeft(rest, " \t"), "=")
		if !ok { // it names a scheme
			params = nil
			if strings.EqualFold(name, "Digest") {
				params = map[string]string{}
				all = append(all, params)
			}
			line = rest
			continue
		}
		if value, line = parameter(strings.TrimLeft(value, " \t")); params != nil {
			params[strings.ToLower(name)] = value
		}
	}
	return all
}

// token cuts a name off a line.
func token(line string) (name, rest string) {
	end := strings.IndexAny(line, " \t,=\"")
	if end < 0 {
		end = len(line)
	}
	return line[:end], line[end:]
}

// parameter cuts the value of a parameter off a line.
func parameter(line string) (value, rest string) {
	if !strings.HasPrefix(line, `"`) {
		end := strings.IndexAny(line, " \t,")
		if end < 0 {
			end = len(line)
		}
		return line[:end], line[end:]
	}
	var b strings.Builder
	for i := 1; i < len(line); i++ {
		switch c := line[i]; {
		case c == '"':
			return b.String(), line[i+1:]
		case c == '\\' && i+1 < len(line):
			i++
			b.WriteByte(line[i])
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), ""
}

// headerText reports whether a text can stand in a header.
func headerText(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

func quoted(s string) string { return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"` }
