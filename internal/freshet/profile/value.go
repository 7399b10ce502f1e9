package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"freshet/internal/mask"
)

// A Value is a part of a request that can refer to secrets, which are filled in
// only when the request leaves: ${env:NAME} is a variable of the environment,
// ${file:/path} the content of a file, ${secret:NAME} a secret that freshet settings secret
// keeps, and ${NAME} a value that a login took from an answer. $${ stands for ${.
//
// In JSON, {"secret": "NAME"}, {"secret": {"env": "NAME"}} and
// {"secret": {"file": "/path"}} say the same as ${secret:NAME} and so on.
type Value string

// A Reference is what a Value refers to.
type Reference struct {
	Kind ReferenceKind
	Name string
}

// String returns the reference as it is written.
func (r Reference) String() string {
	if r.Kind == TakenValue {
		return "${" + r.Name + "}"
	}
	return "${" + string(r.Kind) + ":" + r.Name + "}"
}

// A ReferenceKind says where a value comes from.
type ReferenceKind string

// The kinds of reference.
const (
	EnvSecret    ReferenceKind = "env"    // a variable of the environment
	FileSecret   ReferenceKind = "file"   // the content of a file
	SealedSecret ReferenceKind = "secret" // kept by freshet settings secret
	TakenValue   ReferenceKind = ""       // taken from an answer by a login
)

var (
	reference = regexp.MustCompile(`\$?\$\{[^}]*\}?`)
	envName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
)

// ValidSecretName reports whether a secret that freshet settings secret keeps, a profile, a
// jar or a value that a login takes can have a name.
func ValidSecretName(name string) bool { return plainName.MatchString(name) }

// parseReference reads what stands between ${ and }.
func parseReference(written string) (Reference, error) {
	inner, closed := strings.CutSuffix(strings.TrimPrefix(written, "${"), "}")
	if !closed {
		return Reference{}, fmt.Errorf("%s is not closed with }; write $${ for a literal ${", mask.Shorten(written, 40))
	}
	kind, name, ok := strings.Cut(inner, ":")
	if !ok {
		kind, name = "", inner
	}
	r := Reference{Kind: ReferenceKind(kind), Name: name}
	switch {
	case r.Kind == EnvSecret && envName.MatchString(name),
		r.Kind == FileSecret && filepath.IsAbs(name),
		r.Kind == SealedSecret && ValidSecretName(name),
		r.Kind == TakenValue && ValidSecretName(name):
		return r, nil
	case r.Kind == FileSecret:
		return r, fmt.Errorf("%s must name a file by its full path, such as ${file:/run/secrets/token}", mask.Shorten(written, 80))
	}
	return r, fmt.Errorf("%s is not ${env:NAME}, ${file:/path} or ${secret:NAME}; write $${ for a literal ${", mask.Shorten(written, 80))
}

// Expand returns the text with every reference replaced by what value returns for
// it.
func (t Value) Expand(value func(Reference) (string, error)) (string, error) {
	if !strings.Contains(string(t), "${") {
		return string(t), nil
	}
	var fault error
	expanded := reference.ReplaceAllStringFunc(string(t), func(written string) string {
		if strings.HasPrefix(written, "$$") {
			return written[1:]
		}
		r, err := parseReference(written)
		if err == nil && fault == nil {
			var v string
			if v, err = value(r); err == nil {
				return v
			}
		}
		if fault == nil {
			fault = err
		}
		return ""
	})
	if fault != nil {
		return "", fault
	}
	return expanded, nil
}

// References returns what the text refers to, or what is wrong with it.
func (t Value) References() (found []Reference, err error) {
	_, err = t.Expand(func(r Reference) (string, error) {
		found = append(found, r)
		return "", nil
	})
	return found, err
}

// Secret reports whether the text holds something that nobody else should see.
func (t Value) Secret() bool {
	found, err := t.References()
	return err != nil || len(found) > 0
}

// UnmarshalJSON reads a text, a number, true or false, or an object that names a
// secret.
func (t *Value) UnmarshalJSON(text []byte) error {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return err
	}
	switch v := value.(type) {
	case string:
		*t = Value(v)
		return nil
	case float64, bool:
		*t = Value(text)
		return nil
	case map[string]any:
		if r, ok := secretObject(v); ok {
			*t = Value(r.String())
			return nil
		}
	}
	return errors.New(`expected text, or a secret such as ${env:NAME}, ${secret:NAME} or {secret: {env: NAME}}`)
}

// secretObject reads {"secret": ...}.
func secretObject(v map[string]any) (Reference, bool) {
	if len(v) != 1 {
		return Reference{}, false
	}
	switch s := v["secret"].(type) {
	case string:
		return Reference{SealedSecret, s}, true
	case map[string]any:
		for kind, name := range s {
			if name, ok := name.(string); ok && len(s) == 1 && (kind == string(EnvSecret) || kind == string(FileSecret)) {
				return Reference{ReferenceKind(kind), name}, true
			}
		}
	}
	return Reference{}, false
}
