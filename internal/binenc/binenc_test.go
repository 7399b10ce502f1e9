package binenc_test

import (
	"bytes"
	"math"
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/binenc"
)

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unsigned, signed := rapid.Uint64().Draw(t, "unsigned"), rapid.Int64().Draw(t, "signed")
		half, float := rapid.Uint32().Draw(t, "half"), rapid.Float64().Draw(t, "float")
		text, yes, no := rapid.String().Draw(t, "text"), rapid.Bool().Draw(t, "yes"), rapid.Bool().Draw(t, "no")
		w := binenc.Writer{7}
		w.Byte(byte(half))
		w.Bool(yes)
		w.Uvarint(unsigned)
		w.Varint(signed)
		w.Uint32(half)
		w.Uint64(unsigned)
		w.Float64(float)
		w.Float32(float32(half))
		w.String(text)
		w.Flags(yes, no, true)
		w.Raw([]byte(text))
		w.Checksum()

		r, err := binenc.Open(7, w)
		if err != nil {
			t.Fatal(err)
		}
		var f [3]bool
		if r.Byte() != byte(half) || r.Bool() != yes || r.Uvarint() != unsigned || r.Varint() != signed || r.Uint32() != half ||
			r.Uint64() != unsigned || r.Float64() != float || r.Float32() != float32(half) || r.String(len(text)) != text {
			t.Errorf("values differ: %v", r.Err())
		}
		if r.Flags(&f[0], &f[1], &f[2]); f != [3]bool{yes, no, true} {
			t.Errorf("flags are %v", f)
		}
		if got := r.Bytes(uint64(len(text))); string(got) != text || r.Close() != nil {
			t.Errorf("read %q, %v", got, r.Close())
		}
		at := rapid.IntRange(0, len(w)-1).Draw(t, "at")
		damaged := bytes.Clone(w)
		damaged[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if _, err := binenc.Open(7, damaged); err == nil {
			t.Errorf("opened with a flipped bit in byte %d", at)
		}
	})
}

func TestMalformed(t *testing.T) {
	for name, read := range map[string]func(*binenc.Reader){
		"uvarint too large":  func(r *binenc.Reader) { r.UvarintMax(4) },
		"bool":               func(r *binenc.Reader) { r.Bool() },
		"too few bytes":      func(r *binenc.Reader) { r.Bytes(5) },
		"huge length":        func(r *binenc.Reader) { r.Bytes(math.MaxUint64) },
		"string too long":    func(r *binenc.Reader) { r.String(4) },
		"count above limit":  func(r *binenc.Reader) { r.Count(4, 1) },
		"count beyond input": func(r *binenc.Reader) { r.Count(100, 1) },
		"word":               func(r *binenc.Reader) { r.Uint64() },
		"half after a byte":  func(r *binenc.Reader) { r.Byte(); r.Uint32() },
		"bytes are left":     func(r *binenc.Reader) { r.Byte() },
		"out of range":       func(r *binenc.Reader) { r.Uint32(); r.Require(false) },
	} {
		r := binenc.NewReader([]byte{5, 0, 0, 0})
		if read(r); r.Close() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	r := binenc.NewReader([]byte{1, 2, 3})
	r.Uint32()
	if r.Byte() != 0 || r.Uvarint() != 0 || r.Varint() != 0 || r.Uint64() != 0 || r.String(9) != "" || r.Count(9, 1) != 0 || r.Err() == nil || r.Len() != 0 {
		t.Error("a method returns something after an error")
	}
}
