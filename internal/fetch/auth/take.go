package auth

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"

	"freshet/internal/freshet/profile"
	"freshet/internal/lazyregexp"
)

const (
	maxTakenFrom = 4 << 20 // bytes of an answer
	maxTaken     = 8 << 10 // bytes of a value
)

var errNotThere = errors.New("it is not there")

// take returns a value that stands in the body of an answer. All ways to do that take
// time in proportion to the body: what reads it are a tokenizer, a pattern of bounded
// size and a decoder.
func take(t profile.Taking, body []byte) (value string, err error) {
	if len(body) > maxTakenFrom {
		return "", fmt.Errorf("the answer is larger than %d bytes", maxTakenFrom)
	}
	switch {
	case t.CSS != "":
		value, err = takeElement(t.CSS, body)
	case t.Regex != "":
		value, err = takeMatch(t.Regex, body)
	case t.JSON != "":
		value, err = takeKey(t.JSON, body)
	}
	switch {
	case err != nil:
		return "", err
	case value == "" || len(value) > maxTaken:
		return "", fmt.Errorf("it is empty or longer than %d bytes", maxTaken)
	}
	return value, nil
}

// takeElement returns an attribute of the first element that a selector matches, or
// the text at its beginning.
func takeElement(css string, body []byte) (string, error) {
	css, attribute, wanted := strings.Cut(css, "@")
	selector, err := cascadia.Parse(css)
	if err != nil {
		return "", err
	}
	tokens := html.NewTokenizer(bytes.NewReader(body))
	tokens.SetMaxBuf(maxTakenFrom)
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			return "", errNotThere
		case html.StartTagToken, html.SelfClosingTagToken:
			tag := tokens.Token()
			if !selector.Match(&html.Node{Type: html.ElementNode, Data: tag.Data, DataAtom: tag.DataAtom, Attr: tag.Attr}) {
				continue
			}
			if !wanted {
				if tokens.Next() != html.TextToken {
					return "", errNotThere
				}
				return strings.TrimSpace(tokens.Token().Data), nil
			}
			for _, a := range tag.Attr {
				if strings.EqualFold(a.Key, attribute) {
					return a.Val, nil
				}
			}
			return "", fmt.Errorf("the element has no attribute %s", attribute)
		}
	}
}

// takeMatch returns what the first group of a pattern matches, or all of it.
func takeMatch(pattern string, body []byte) (string, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return "", err
	}
	if profile.PatternSize(pattern)*len(body) > mostSteps {
		return "", errors.New("the answer is too large for this pattern")
	}
	found := re.FindSubmatch(body)
	switch {
	case found == nil:
		return "", errNotThere
	case len(found) > 1:
		return string(found[1]), nil
	}
	return string(found[0]), nil
}

var pathStep = lazyregexp.New(`\.([A-Za-z_][A-Za-z0-9_-]*)|\[([0-9]+)\]|\['([^'\\]*)'\]`)

// takeKey returns what a path of keys and indexes leads to in a JSON document.
func takeKey(path string, body []byte) (string, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var at any
	if err := d.Decode(&at); err != nil {
		return "", errors.New("the answer is not JSON")
	}
	for _, step := range pathStep.FindAllStringSubmatch(path, -1) {
		if step[2] != "" {
			list, ok := at.([]any)
			i, err := strconv.Atoi(step[2])
			if !ok || err != nil || i >= len(list) {
				return "", errNotThere
			}
			at = list[i]
			continue
		}
		object, ok := at.(map[string]any)
		if !ok {
			return "", errNotThere
		}
		at = object[step[1]+step[3]]
	}
	switch v := at.(type) {
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	}
	return "", errNotThere
}
