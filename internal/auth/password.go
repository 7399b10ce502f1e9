package auth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"

	"freshet/internal/invalid"
)

// A Cost is what hashing a password takes.
type Cost struct {
	Memory uint32 // KiB
	Passes uint32
}

// DefaultCost makes guessing expensive: 64 MiB and three passes for each guess.
var DefaultCost = Cost{Memory: 64 << 10, Passes: 3}

const (
	leastPassword = 8    // characters
	mostPassword  = 1024 // bytes
	saltBytes     = 16
	sumBytes      = 32
)

// CheckPassword returns what is wrong with a password that is to be set, as an
// *invalid.Error.
func CheckPassword(password string) error {
	reason := ""
	switch {
	case utf8.RuneCountInString(password) < leastPassword:
		reason = fmt.Sprintf("the password must have at least %d characters", leastPassword)
	case len(password) > mostPassword:
		reason = fmt.Sprintf("the password must have at most %d bytes", mostPassword)
	default:
		return nil
	}
	return &invalid.Error{Field: "password", Reason: reason}
}

// hash returns the hash of a password in the form of the PHC: with the cost and the salt.
func (c Cost) hash(password string) string {
	salt := make([]byte, saltBytes)
	rand.Read(salt) // never fails
	return c.form(salt, argon2.IDKey([]byte(password), salt, c.Passes, c.Memory, 1, sumBytes))
}

// decoy returns a hash that no password has, and that takes as long to find out.
func (c Cost) decoy() string {
	random := make([]byte, saltBytes+sumBytes)
	rand.Read(random) // never fails
	return c.form(random[:saltBytes], random[saltBytes:])
}

func (c Cost) form(salt, sum []byte) string {
	plain := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=1$%s$%s", argon2.Version, c.Memory, c.Passes, plain(salt), plain(sum))
}

// matches reports whether a hash is that of a password. It takes as long for a wrong
// password as for the right one.
func matches(hash, password string) bool {
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return false
	}
	var version int
	var c Cost
	if _, err := fmt.Sscanf(parts[2], "v=%d", &version); err != nil || version != argon2.Version {
		return false
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=1", &c.Memory, &c.Passes); err != nil || c.Memory > 1<<20 || c.Passes < 1 || c.Passes > 100 {
		return false
	}
	salt, err := base64.RawStdEncoding.DecodeString(parts[4])
	if err != nil {
		return false
	}
	want, err := base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil || len(want) != sumBytes {
		return false
	}
	got := argon2.IDKey([]byte(password), salt, c.Passes, c.Memory, 1, sumBytes)
	return subtle.ConstantTimeCompare(got, want) == 1
}

// Hash returns the hash of a password that is to be set.
func (g *Gate) Hash(ctx context.Context, password string) (hash string, err error) {
	if err := CheckPassword(password); err != nil {
		return "", err
	}
	err = g.hashes.do(ctx, Of(ctx).From, func() { hash = g.Cost.hash(password) })
	return hash, err
}
