package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
	"sync"

	"github.com/klauspost/compress/zstd"
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
// Small changes are told by copies; larger ones are compressed by zstd with the
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
