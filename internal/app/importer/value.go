package importer

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// An object holds values of JSON or YAML by their names. A value that is null is like one that is
// missing.
type object map[string]any

// UnmarshalJSON takes what is no object for an empty one, so that it does not spoil a whole file.
func (o *object) UnmarshalJSON(text []byte) error {
	var value any
	err := json.Unmarshal(text, &value)
	*o = objectOf(value)
	return err
}

// objectOf returns a value as an object; nil if it is none.
func objectOf(v any) object {
	m, _ := v.(map[string]any)
	return m
}

func (o object) text(key string) string    { return textOf(o[key]) }
func (o object) texts(key string) []string { return textsOf(o[key]) }
func (o object) object(key string) object  { return objectOf(o[key]) }

// on reports whether a value is true.
func (o object) on(key string) bool { return isOn(o.text(key)) }

// off reports whether a value is there and false.
func (o object) off(key string) bool {
	text := strings.ToLower(o.text(key))
	return text == "false" || text == "no" || text == "0"
}

// list returns a value as a list.
func (o object) list(key string) []any {
	list, _ := o[key].([]any)
	return list
}

// first returns the text of the first key that has one.
func (o object) first(keys ...string) string {
	for _, key := range keys {
		if text := o.text(key); text != "" {
			return text
		}
	}
	return ""
}

// filled returns the values that say something.
func (o object) filled() object {
	maps.DeleteFunc(o, func(_ string, v any) bool { return empty(v) })
	return o
}

// empty reports whether a value says nothing, or that something is off.
func empty(v any) bool {
	switch v := v.(type) {
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	text := textOf(v)
	return text == "" || text == "system" || object{"": v}.off("")
}

// isOn reports whether a text means true.
func isOn(text string) bool {
	text = strings.ToLower(text)
	return text == "true" || text == "yes" || text == "1"
}

// inJSON returns a value as users write it in JSON.
func inJSON(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// textOf returns a scalar as text, without white space around it.
func textOf(v any) string {
	switch v := v.(type) {
	case nil, map[string]any, []any:
		return ""
	case string:
		return strings.TrimSpace(v)
	case float64:
		return strings.TrimSpace(inJSON(v))
	}
	return fmt.Sprint(v)
}

// textsOf returns a text, or the texts of a list.
func textsOf(v any) (texts []string) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, one := range list {
		if text := textOf(one); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// complete adds https:// to a URL without a scheme. Feed readers write feed: before some.
func complete(url string) string {
	if rest, ok := strings.CutPrefix(url, "feed:"); ok {
		url = strings.TrimPrefix(rest, "//")
	}
	url = strings.TrimPrefix(url, "//")
	if scheme, _, ok := strings.Cut(url, ":"); ok && !strings.Contains(scheme, ".") && !strings.Contains(scheme, "/") && scheme != "localhost" {
		return url
	}
	return "https://" + url
}

// tagsOf returns names as valid tags, each once.
func tagsOf(names ...string) (tags []string) {
	for _, name := range names {
		name = strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' }), "-")
		name = strings.Trim(name, "#-")
		if name != "" && !slices.Contains(tags, name) {
			tags = append(tags, name)
		}
	}
	return tags
}

// nameOf returns a text as the name of a source.
func nameOf(text string) string {
	name := []rune(strings.Join(strings.Fields(text), " "))
	return string(name[:min(len(name), longestName)])
}

// longestName is how many characters of a name are kept.
const longestName = 200
