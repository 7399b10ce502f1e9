package extract_test

import (
	"bytes"
	"errors"
	"os"
	"testing"
	"unicode"
	"unicode/utf8"

	"freshet/internal/extract"
	"freshet/internal/freshet/failure"
)

// TestMain lets the test binary be the child process of a Reader.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childMode {
		beChild(os.Args[2:])
		return
	}
	os.Exit(m.Run())
}

func classOf(err error) failure.Class {
	if e, ok := errors.AsType[*extract.Error](err); ok {
		return e.Class
	}
	return ""
}

// checkText holds a text to what the package promises of every text.
func checkText(t interface{ Errorf(string, ...any) }, text []byte) {
	if !utf8.Valid(text) {
		t.Errorf("the text is not valid UTF-8: %q", text)
	}
	if len(text) > 0 && (text[len(text)-1] != '\n' || bytes.HasSuffix(text, []byte("\n\n"))) && len(bytes.Trim(text, "\n")) > 0 {
		t.Errorf("the text does not end in one newline: %.200q", text)
	}
	if bytes.Contains(text, []byte(" \n")) || bytes.Contains(text, []byte("\t\n")) {
		t.Errorf("the text has trailing spaces: %.200q", text)
	}
	for _, r := range string(text) {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			t.Errorf("the text has the control character %U", r)
			return
		}
	}
}
