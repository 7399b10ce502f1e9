package warc_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/internal/warc"
)

// What is written is read again, packed or not, and a file that is cut off says so.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		packed := rapid.Bool().Draw(rt, "packed")
		value := rapid.StringMatching(`[!-~]([ -~]{0,20}[!-~])?`)
		var want []*warc.Record
		var file bytes.Buffer
		w := warc.NewWriter(&file, packed)
		for range rapid.IntRange(1, 4).Draw(rt, "records") {
			r := &warc.Record{Block: rapid.SliceOf(rapid.Byte()).Draw(rt, "block")}
			r.Add(warc.FieldType, warc.Resource)
			r.Add(warc.FieldTarget, value.Draw(rt, "target"))
			if err := w.Write(r); err != nil {
				rt.Fatal(err)
			}
			want = append(want, r)
		}
		got, err := readAll(file.Bytes())
		if !errors.Is(err, io.EOF) || len(got) != len(want) {
			rt.Fatalf("%d of %d records are read: %v", len(got), len(want), err)
		}
		for i := range want {
			if diff := cmp.Diff(want[i].Fields, got[i].Fields); diff != "" || !bytes.Equal(want[i].Block, got[i].Block) {
				rt.Fatalf("record %d is not what was written:\n%s", i, diff)
			}
		}
		cut := rapid.IntRange(1, file.Len()-5).Draw(rt, "cut")
		if few, err := readAll(file.Bytes()[:cut]); err == nil || len(few) > len(got) || !packed && len(few) == len(got) {
			rt.Fatalf("%d records are read of a file that was cut off: %v", len(few), err)
		}
	})
}

func readAll(file []byte) (list []*warc.Record, err error) {
	r, err := warc.NewReader(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	for {
		rec, err := r.Next()
		if err != nil {
			return list, err
		}
		list = append(list, rec)
	}
}

// Files that other programs write, and files that are wrong.
func TestForeignFiles(t *testing.T) {
	for _, tt := range []struct{ name, text, fault string }{
		{"lower case, folded lines and version 1.0", "WARC/1.0\r\nwarc-type: response\r\nWARC-Target-URI: http://a.example/\r\n x\r\ncontent-length: 3\r\n\r\nabc\r\n\r\n", ""},
		{"line feeds alone", "WARC/1.0\nWARC-Type: response\nWARC-Target-URI: http://a.example/ x\nContent-Length: 3\n\nabc\n\n", ""},
		{"no length", "WARC/1.1\r\nWARC-Type: response\r\n\r\nabc", "without Content-Length"},
		{"a length that is too large", "WARC/1.1\r\nContent-Length: 99999999999999\r\n\r\nabc", "want at most"},
		{"a negative length", "WARC/1.1\r\nContent-Length: -1\r\n\r\nabc", "without Content-Length"},
		{"no record", "hello", "begins with"},
		{"no field", "WARC/1.1\r\nhello\r\n\r\n", "not a field"},
		{"a long header", "WARC/1.1\r\n" + strings.Repeat("a: "+strings.Repeat("b", 1000)+"\r\n", 2000), "too long"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			list, err := readAll([]byte(tt.text))
			if tt.fault != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fault) {
					t.Errorf("it gives %v, want %q", err, tt.fault)
				}
				return
			}
			if len(list) != 1 || list[0].Get("warc-TYPE") != "response" || list[0].Get(warc.FieldTarget) != "http://a.example/ x" || string(list[0].Block) != "abc" {
				t.Errorf("it is read as %+v: %v", list, err)
			}
		})
	}
}

// A value with a line break would be a field of its own.
func TestHostileFields(t *testing.T) {
	r := &warc.Record{}
	r.Add(warc.FieldTarget, "http://a.example/\r\nWARC-Type: response")
	if err := warc.NewWriter(io.Discard, false).Write(r); err == nil {
		t.Error("a value with a line break is written")
	}
}

// A response comes back with its header, and its block is a message that any client of HTTP reads.
func TestResponse(t *testing.T) {
	header := http.Header{"Content-Type": {"text/html"}, "Content-Encoding": {"gzip"}, "Content-Length": {"7"}, "Transfer-Encoding": {"chunked"}, "Set-Cookie": {"a=***", "b=***"}}
	block := warc.AppendResponse(nil, 404, header, []byte("<p>body"))
	got, err := warc.ReadResponse(block)
	if err != nil || got.Status != 404 || string(got.Body) != "<p>body" {
		t.Fatalf("the response is %+v: %v", got, err)
	}
	if diff := cmp.Diff(header, got.Header); diff != "" {
		t.Errorf("the header came back otherwise (-want +got):\n%s", diff)
	}
	if chunked, err := warc.ReadResponse([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")); err != nil || string(chunked.Body) != "abc" {
		t.Errorf("a chunked response is %+v: %v", chunked, err)
	}
	if plain, err := warc.ReadResponse([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n<html>")); err != nil || string(plain.Body) != "<html>" {
		t.Errorf("a response that only says that it is chunked is %+v: %v", plain, err)
	}
}

func TestID(t *testing.T) {
	if a, b := warc.ID("a", "1"), warc.ID("a", "1"); a != b || a == warc.ID("a1") || len(a) != len("<urn:uuid:00000000-0000-8000-8000-000000000000>") {
		t.Errorf("the IDs are %s and %s", a, b)
	}
	if at, err := (&warc.Record{Fields: []warc.Field{{Name: warc.FieldDate, Value: warc.Time(time.Unix(1700000000, 123456789))}}}).Date(); err != nil || at.UnixMicro() != 1700000000123456 {
		t.Errorf("the date is %v: %v", at, err)
	}
}

// FuzzReader reads files that nobody wrote.
func FuzzReader(f *testing.F) {
	f.Add([]byte("WARC/1.1\r\nWARC-Type: response\r\nContent-Length: 3\r\n\r\nabc\r\n\r\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		list, _ := readAll(file)
		for _, r := range list {
			_, _ = warc.ReadResponse(r.Block)
		}
	})
}
