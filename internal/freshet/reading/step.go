package reading

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"freshet/internal/strictjson"
)

// A Step is one step of reading a response: what it does, and with what. Users
// write the name alone, as in "text", or with an argument, as in
// {"css": "article"}. Which steps there are, and what they take, is for package
// content to say.
type Step struct {
	Name string
	Arg  string // in canonical JSON; "" if the name stands alone
}

// String returns the step as JSON.
func (s Step) String() string {
	text, err := json.Marshal(s)
	if err != nil {
		return s.Name
	}
	return string(text)
}

// MarshalJSON writes the step as users do.
func (s Step) MarshalJSON() ([]byte, error) {
	if s.Arg == "" {
		return json.Marshal(s.Name)
	}
	return json.Marshal(map[string]json.RawMessage{s.Name: json.RawMessage(s.Arg)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Step) UnmarshalJSON(text []byte) error {
	*s = Step{}
	if bytes.HasPrefix(text, []byte(`"`)) {
		return json.Unmarshal(text, &s.Name)
	}
	var one map[string]json.RawMessage
	if err := json.Unmarshal(text, &one); err != nil || len(one) != 1 {
		return errors.New(`a step is a name, such as text, or a name with what it takes, such as css: article`)
	}
	for name, arg := range one {
		canonical, err := strictjson.Canonicalize(arg)
		if err != nil {
			return fmt.Errorf("step %s: %w", name, err)
		}
		if s.Name = name; canonical != "null" {
			s.Arg = canonical
		}
	}
	return nil
}
