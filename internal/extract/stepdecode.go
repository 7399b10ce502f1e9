package extract

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"html"
	"io"
	"net/url"
	"strings"

	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/invalid"
)

// maxUnpacked is how large something packed may become.
const maxUnpacked = 32 << 20

func compileDecode(a argument) (func(value) (value, error), bool, error) {
	how, err := a.text("base64, gzip or jwt")
	if err != nil {
		return nil, false, err
	}
	decoders := map[string]func([]byte) ([]byte, error){
		"base64": decodeBase64, "gzip": unpack, "jwt": decodeJWT, "url": decodeURL, "html": decodeHTML,
	}
	decode := decoders[how]
	if decode == nil {
		return nil, false, invalid.Errorf(a.field, "%s is not one of base64, gzip, jwt, url and html", quoted(how))
	}
	return func(v value) (value, error) {
		body, err := v.bytes()
		if err != nil {
			return v, err
		}
		out, err := decode(body)
		if err != nil {
			return v, err
		}
		if how == "url" || how == "html" {
			return textValue(v, plainText(valid(out))), nil
		}
		doc := newDocument(reading.Auto, freshet.Response{Body: out})
		return value{form: documentForm, doc: doc, title: v.title}, nil
	}, true, nil
}

// decodeBase64 decodes base64 in any of its usual alphabets, with or without
// padding, line breaks and the head of a data URL.
func decodeBase64(b []byte) ([]byte, error) {
	s := strings.TrimSpace(string(b))
	if head, rest, ok := strings.Cut(s, ";base64,"); ok && strings.HasPrefix(head, "data:") {
		s = rest
	}
	s = strings.NewReplacer("\n", "", "\r", "", " ", "", "\t", "", "-", "+", "_", "/").Replace(s)
	out, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
	if err != nil {
		return nil, fail(FailParse, "", "not base64: %w", err)
	}
	return out, nil
}

// unpack undoes gzip and zlib, several times if one is in another.
func unpack(b []byte) ([]byte, error) {
	out, err := unpackOnce(b)
	for range 4 {
		if err != nil || !bytes.HasPrefix(out, []byte("\x1f\x8b")) {
			break
		}
		out, err = unpackOnce(out)
	}
	return out, err
}

func unpackOnce(b []byte) ([]byte, error) {
	var r io.Reader
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		if r, err = zlib.NewReader(bytes.NewReader(b)); err != nil {
			return nil, fail(FailParse, "", "not gzip")
		}
	}
	out, err := io.ReadAll(io.LimitReader(r, maxUnpacked+1))
	if err != nil {
		return nil, fail(FailParse, "", "unpack: %w", err)
	}
	if len(out) > maxUnpacked {
		return nil, fail(FailLimit, "", "it is larger than %d MiB when unpacked", maxUnpacked>>20)
	}
	return out, nil
}

// decodeJWT returns the head and the claims of a JSON Web Token. Its signature is
// not checked: nobody here has the key.
func decodeJWT(b []byte) ([]byte, error) {
	parts := strings.Split(strings.TrimSpace(string(b)), ".")
	if len(parts) != 3 {
		return nil, fail(FailParse, "", "not a JSON Web Token: it has %d parts, not 3", len(parts))
	}
	out := []byte(`{"header":`)
	for i, name := range []string{"", `,"claims":`} {
		part, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[i], "="))
		if err != nil {
			return nil, fail(FailParse, "", "not a JSON Web Token: %w", err)
		}
		if !validJSON(part) {
			return nil, fail(FailParse, "", "not a JSON Web Token: a part of it is not JSON")
		}
		out = append(append(out, name...), part...)
	}
	return append(out, '}'), nil
}

func decodeURL(b []byte) ([]byte, error) {
	s, err := url.QueryUnescape(string(b))
	if err != nil {
		return nil, fail(FailParse, "", "not URL-encoded: %w", err)
	}
	return []byte(s), nil
}

func decodeHTML(b []byte) ([]byte, error) { return []byte(html.UnescapeString(string(b))), nil }
