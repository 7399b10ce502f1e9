package fetch_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
)

// rekeys is a server that changes its keys for ever instead of answering. The standard
// library can do no such thing, so after the handshake it goes on by itself, with the
// secret that a key log tells.
func rekeys(t *testing.T) animal {
	lender := httptest.NewTLSServer(nil) // of its certificate
	defer lender.Close()
	addr := serve(t, func(conn net.Conn) {
		var keys bytes.Buffer
		secure := tls.Server(conn, &tls.Config{
			Certificates: lender.TLS.Certificates, MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"},
			SessionTicketsDisabled: true, KeyLogWriter: &keys,
		})
		if secure.Handshake() != nil || secure.ConnectionState().CipherSuite != tls.TLS_AES_128_GCM_SHA256 || !hear(secure) {
			return
		}
		secret := secretOf(keys.String(), "SERVER_TRAFFIC_SECRET_0")
		for range 10_000 {
			if _, err := conn.Write(keyUpdate(secret)); err != nil {
				return
			}
			secret = expand(secret, "traffic upd", sha256.Size)
		}
	})
	return animal{url: "https://" + addr + "/", config: trusting(lender)}
}

// secretOf returns a secret from a key log, whose lines have a label, a number and the
// secret.
func secretOf(log, label string) []byte {
	for line := range strings.Lines(log) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == label {
			secret, _ := hex.DecodeString(f[2])
			return secret
		}
	}
	return nil
}

// expand derives a key from a secret as TLS 1.3 does.
func expand(secret []byte, label string, size int) []byte {
	label = "tls13 " + label
	info := binary.BigEndian.AppendUint16(nil, uint16(size))
	info = append(append(info, byte(len(label))), label...)
	key, err := hkdf.Expand(sha256.New, secret, string(append(info, 0)), size)
	if err != nil {
		panic(err) // the size is wrong
	}
	return key
}

// keyUpdate returns the first record under a secret: the message that the next secret
// holds from now on.
func keyUpdate(secret []byte) []byte {
	block, err := aes.NewCipher(expand(secret, "key", 16))
	if err != nil {
		panic(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	const handshake, updateKeys = 22, 24
	message := []byte{updateKeys, 0, 0, 1, 0, handshake}
	record := []byte{23, 3, 3, 0, byte(len(message) + aead.Overhead())}
	return aead.Seal(record, expand(secret, "iv", 12), message, record)
}
