// Package mask hides secrets in URLs and texts that are shown.
package mask

import (
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// Placeholder stands for what is not shown.
const Placeholder = "***"

// URL returns a URL as it can be shown: without a user and password, and with
// "***" for what looks like a secret among its parameters. That is a value whose
// parameter is called so, such as key, token or sig, or that is long and random.
func URL(raw string) string {
	rest, fragment, hasFragment := strings.Cut(raw, "#")
	rest, query, hasQuery := strings.Cut(rest, "?")
	masked := maskUser(rest)
	if hasQuery {
		masked += "?" + maskParams(query)
	}
	if hasFragment {
		masked += "#" + maskParams(fragment)
	}
	return masked
}

// Applied reports whether a URL is masked: it is not the real one.
func Applied(raw string) bool {
	rest, fragment, _ := strings.Cut(raw, "#")
	rest, query, _ := strings.Cut(rest, "?")
	if _, after, ok := strings.Cut(rest, "://"); ok && strings.HasPrefix(after, Placeholder+"@") {
		return true
	}
	for _, part := range []string{query, fragment} {
		for param := range strings.FieldsFuncSeq(part, isParamEnd) {
			if _, value, ok := strings.Cut(param, "="); ok && value == Placeholder {
				return true
			}
		}
	}
	return false
}

func isParamEnd(r rune) bool { return r == '&' || r == ';' }

// maskUser masks the user and password before a host.
func maskUser(raw string) string {
	scheme, after, ok := strings.Cut(raw, "://")
	if !ok || !strings.Contains(after, "@") {
		return raw
	}
	host, path, hasPath := strings.Cut(after, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = Placeholder + host[at:]
	}
	if hasPath {
		host += "/" + path
	}
	return scheme + "://" + host
}

// maskParams masks the values of parameters.
func maskParams(query string) string {
	var b strings.Builder
	for query != "" {
		end := strings.IndexFunc(query, isParamEnd)
		if end < 0 {
			end = len(query)
		}
		name, value, ok := strings.Cut(query[:end], "=")
		if ok && value != "" && (SecretName(name) || looksRandom(value)) {
			value = Placeholder
		}
		b.WriteString(name)
		if ok {
			b.WriteString("=" + value)
		}
		if end < len(query) {
			b.WriteByte(query[end])
			end++
		}
		query = query[end:]
	}
	return b.String()
}

// secretWords are what a parameter is called whose value nobody else should see,
// or what its name ends with.
var secretWords = []string{
	"key", "token", "sig", "signature", "secret", "password", "passwd", "passphrase", "pwd", "pass", "auth", "authorization",
	"credential", "credentials", "jwt", "session", "sessionid", "sid", "hmac", "otp", "bearer",
}

// SecretName reports whether a parameter is called like a secret.
func SecretName(name string) bool {
	if plain, err := url.QueryUnescape(name); err == nil {
		name = plain
	}
	name = strings.ToLower(name)
	words := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, secret := range secretWords {
		for _, word := range words {
			if word == secret || len(secret) > len("sid") && strings.HasSuffix(word, secret) {
				return true
			}
		}
	}
	return strings.HasSuffix(name, "key")
}

// looksRandom reports whether a value is long, and as mixed as only keys are.
func looksRandom(value string) bool {
	if plain, err := url.QueryUnescape(value); err == nil {
		value = plain
	}
	if len(value) < 20 || strings.ContainsAny(value, " ,/:?&") {
		return false
	}
	var lower, upper, digits int
	count := map[rune]int{}
	for _, r := range value {
		count[r]++
		switch {
		case unicode.IsUpper(r):
			upper++
		case unicode.IsLetter(r):
			lower++
		case unicode.IsDigit(r):
			digits++
		}
	}
	if mixed := lower >= 2 && upper >= 2 && digits >= 1; !mixed && (lower+upper < 2 || digits < 2) {
		return false
	}
	bits, n := 0.0, float64(len([]rune(value)))
	for _, c := range count {
		p := float64(c) / n
		bits -= p * math.Log2(p)
	}
	return bits >= 3.2
}

var (
	urlInText    = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>` + "`" + `]+`)
	secretInText = regexp.MustCompile(`(?i)\bwhsec_[A-Za-z0-9+/=_-]+|\bbearer\s+[A-Za-z0-9._~+/=-]{8,}`)
)

// Text returns a text with every URL in it as it can be shown, and without
// the secrets of webhooks.
func Text(text string) string {
	if strings.Contains(text, "://") {
		text = urlInText.ReplaceAllStringFunc(text, URL)
	}
	return secretInText.ReplaceAllString(text, Placeholder)
}

// Shorten returns a text that is at most so many bytes long, and says how much of
// it is missing.
func Shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	cut := most
	for cut > 0 && text[cut]&0xc0 == 0x80 {
		cut--
	}
	return text[:cut] + "... (" + strconv.Itoa(len(text)-cut) + " bytes more)"
}
