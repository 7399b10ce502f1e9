package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"sync"

	"github.com/klauspost/compress/zstd"

	"freshet/internal/binenc"
)

// The first byte of a frame says how the rest is to be read.
const (
	frameStored = iota // as it is
	frameWhole         // zstd
	frameDelta         // zstd with the base as its history
	frameCopies        // copies from the base and a few new bytes
)

const (
	// smallBody is the size up to which pooled encoders are used.
	smallBody = 512 << 10

	// deltaBytes bounds base and body together for a delta: the encoder needs
	// a window over both.
	deltaBytes = 32 << 20

	// shortestBase is the least history worth looking for matches in.
	shortestBase = 32
)

// A codec turns bodies into frames and back. Encoders are dear to make (their
// tables are a few hundred kilobytes) and cheap to use again.
//
// Small changes are encoded as copies; larger ones are compressed by zstd with the
// base as its history, at the fastest level. Measured on series of real pages,
// feeds and JSON that is three to fifteen times as fast as the better levels
// and smaller than a packed git repository; the better ones gain another tenth.
type codec struct {
	copies                                copier
	whole, delta, decoders, deltaDecoders sync.Pool
}

// encode returns the smallest cheap frame of body: against base if there is
// one and it helps. Alone reports that the frame does not need the base.
func (c *codec) encode(body, base []byte) (frame []byte, alone bool, err error) {
	if len(base) >= shortestBase && len(body) > 0 && len(base)+len(body) <= deltaBytes {
		copies, ok := c.copies.encode([]byte{frameCopies}, body, base)
		if ok && len(copies) < len(body)/8 {
			return copies, false, nil
		}
		frame, err = c.encodeDelta(body, base)
		// Smaller than what stands alone would most likely be, which costs as
		// much again to find out.
		if err != nil || len(frame) < len(body)/6 {
			return frame, false, err
		}
	}
	whole, err := c.encodeWhole(body)
	if err != nil || frame == nil || len(whole) <= len(frame) {
		return whole, true, err
	}
	return frame, false, nil
}

func (c *codec) encodeWhole(body []byte) ([]byte, error) {
	enc, ok := c.whole.Get().(*zstd.Encoder)
	if !ok {
		var err error
		if enc, err = newEncoder(zstd.SpeedDefault, 4*smallBody); err != nil {
			return nil, err
		}
	}
	defer c.whole.Put(enc)
	frame := enc.EncodeAll(body, append(make([]byte, 0, len(body)/3+64), frameWhole))
	if len(frame) > len(body) {
		frame = append(append(frame[:0], frameStored), body...)
	}
	return frame, nil
}

func (c *codec) encodeDelta(body, base []byte) ([]byte, error) {
	history := zstd.WithEncoderDictRaw(0, base)
	frame := append(make([]byte, 0, len(body)/32+64), frameDelta)
	if len(base)+len(body) > 2*smallBody {
		// The table of the fastest level is too small for so long a history.
		enc, err := newEncoder(zstd.SpeedBetterCompression, 1<<bits.Len(uint(len(base)+len(body))), history)
		if err != nil {
			return nil, err
		}
		return enc.EncodeAll(body, frame), enc.Close()
	}
	enc, ok := c.delta.Get().(*zstd.Encoder)
	if !ok {
		var err error
		if enc, err = newEncoder(zstd.SpeedFastest, 2*smallBody, history); err != nil {
			return nil, err
		}
	}
	defer c.delta.Put(enc)
	// Written as a stream: EncodeAll would build the tables of the history a
	// second time.
	out := bytes.NewBuffer(frame)
	if err := enc.ResetWithOptions(out, history); err != nil {
		return nil, err
	}
	if _, err := enc.Write(body); err != nil {
		return nil, err
	}
	err := enc.Close()
	return out.Bytes(), err
}

func newEncoder(level zstd.EncoderLevel, window int, more ...zstd.EOption) (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, append(more, zstd.WithEncoderLevel(level), zstd.WithWindowSize(window),
		zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))...)
}

var errFrame = errors.New("not a frame")

// decode returns the body of the given size that was encoded against base.
func (c *codec) decode(frame, base []byte, size int64) ([]byte, error) {
	if len(frame) == 0 || size < 0 || size > 1<<31 {
		return nil, errFrame
	}
	var body []byte
	var err error
	switch how := frame[0]; how {
	case frameStored:
		body = frame[1:]
	case frameWhole:
		body, err = c.decodeZstd(&c.decoders, frame[1:], size)
	case frameDelta:
		body, err = c.decodeZstd(&c.deltaDecoders, frame[1:], size, zstd.WithDecoderDictRaw(0, base))
	case frameCopies:
		body, err = decodeCopies(frame[1:], base, size)
	default:
		return nil, fmt.Errorf("%w: it begins with %d", errFrame, how)
	}
	if err != nil {
		return nil, err
	}
	if int64(len(body)) != size {
		return nil, fmt.Errorf("%w: %d bytes where there were %d", errFrame, len(body), size)
	}
	return body, nil
}

func (c *codec) decodeZstd(pool *sync.Pool, frame []byte, size int64, more ...zstd.DOption) ([]byte, error) {
	dec, ok := pool.Get().(*zstd.Decoder)
	if !ok {
		var err error
		dec, err = zstd.NewReader(nil, append(more, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))...)
		if err != nil {
			return nil, err
		}
	} else if len(more) > 0 {
		if err := dec.ResetWithOptions(nil, more...); err != nil {
			return nil, err
		}
	}
	defer pool.Put(dec)
	return dec.DecodeAll(frame, make([]byte, 0, size))
}

const (
	// copyUnit is the least that is copied. Places in the base are found by
	// the hash of so many bytes.
	copyUnit = 8

	// copyStride is how far apart those places are. A longer common passage
	// is found at one of them and grown to both sides.
	copyStride = 4

	// mostLiterals is how many new bytes a body may have to be encoded as copies.
	// They are stored as they are; if there are more of them zstd pays.
	mostLiterals = 256
)

// A copier tells a body by what it has in common with another: the fast way
// for a page in which a date, a count or a line has changed, which is what
// most changes are. It takes a fifth of the time of zstd, whose tables have to
// be filled anew for each history, and is no longer.
//
// The form is a series of steps: the number of new bytes and the bytes, then
// the length of a copy and where it begins, counted from the end of the copy
// before. It ends after new bytes.
type copier struct {
	tables sync.Pool // of *[]uint32
}

// encode appends body as copies from base to dst. It gives up, and reports
// false, if too much of the body is new.
func (c *copier) encode(dst, body, base []byte) ([]byte, bool) {
	if len(base) < 2*copyUnit {
		return dst, false
	}
	places, ok := c.tables.Get().(*[]uint32)
	if !ok {
		places = new([]uint32)
	}
	defer c.tables.Put(places)
	at := newPlaces(places, base)

	fresh, from, expect := 0, 0, 0 // new bytes so far; where those not written begin; where the next copy is likely
	for i := 0; i+copyUnit <= len(body); {
		p, found := at.find(body, base, i, expect+i-from)
		if !found {
			if i++; fresh+i-from > mostLiterals {
				return dst, false
			}
			continue
		}
		start, length := grow(body, base, from, i, p)
		p -= i - start
		dst = binary.AppendUvarint(dst, uint64(start-from))
		dst = append(dst, body[from:start]...)
		dst = binary.AppendUvarint(dst, uint64(length))
		dst = binary.AppendVarint(dst, int64(p-expect))
		fresh += start - from
		i = start + length
		from, expect = i, p+length
	}
	if fresh+len(body)-from > mostLiterals {
		return dst, false
	}
	dst = binary.AppendUvarint(dst, uint64(len(body)-from))
	return append(dst, body[from:]...), true
}

// places are the positions in a base by the hash of what is there, plus one.
type places struct {
	table []uint32
	shift int
}

// newPlaces fills the table with the positions in base.
func newPlaces(room *[]uint32, base []byte) places {
	log := max(8, bits.Len(uint(len(base)/copyStride)))
	if len(*room) < 1<<log {
		*room = make([]uint32, 1<<log)
	}
	t := places{table: (*room)[:1<<log], shift: 64 - log}
	clear(t.table)
	for i := 0; i+copyUnit <= len(base); i += copyStride {
		t.table[t.slot(binary.LittleEndian.Uint64(base[i:]))] = uint32(i + 1)
	}
	return t
}

func (t places) slot(v uint64) uint64 { return v * 0x9e3779b185ebca87 >> t.shift }

// find returns where in base the next bytes of body are, looking first where
// they would be if the new ones had replaced as many old ones.
func (t places) find(body, base []byte, i, likely int) (int, bool) {
	v := binary.LittleEndian.Uint64(body[i:])
	if likely+copyUnit <= len(base) && binary.LittleEndian.Uint64(base[likely:]) == v {
		return likely, true
	}
	p := int(t.table[t.slot(v)]) - 1
	return p, p >= 0 && binary.LittleEndian.Uint64(base[p:]) == v
}

// grow returns the whole passage that body has at i in common with base at p:
// where it begins, not before from, and how long it is.
func grow(body, base []byte, from, i, p int) (start, length int) {
	length = copyUnit
	for i+length+8 <= len(body) && p+length+8 <= len(base) {
		differ := binary.LittleEndian.Uint64(body[i+length:]) ^ binary.LittleEndian.Uint64(base[p+length:])
		if differ != 0 {
			break
		}
		length += 8
	}
	for i+length < len(body) && p+length < len(base) && body[i+length] == base[p+length] {
		length++
	}
	for i > from && p > 0 && body[i-1] == base[p-1] {
		i--
		p--
		length++
	}
	return i, length
}

// decodeCopies returns the body of a given size that encode expressed by base.
func decodeCopies(steps, base []byte, size int64) ([]byte, error) {
	body := make([]byte, 0, size)
	expect := int64(0)
	for r := binenc.NewReader(steps); ; {
		body = append(body, r.Bytes(r.UvarintMax(uint64(size-int64(len(body)))))...)
		if r.Close() == nil {
			return body, nil
		}
		length, jump := int64(r.UvarintMax(uint64(size-int64(len(body))))), r.Varint()
		if r.Err() != nil || jump < -expect || jump > int64(len(base))-expect || length > int64(len(base))-expect-jump {
			return nil, errFrame
		}
		from := expect + jump
		expect = from + length
		body = append(body, base[from:expect]...)
	}
}
