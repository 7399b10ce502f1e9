package cluster

import (
	"encoding/binary"

	"freshet/internal/freshet"
)

// mostNested is how deep orders and findings lie within each other.
const mostNested = 4

// appendLean appends an order. Whoever sends it has taken note of how its sources are read.
func (say *orderSay) appendLean(b []byte, known *told) []byte {
	b = appendText(appendText(b, say.Source), say.URL)
	b = known.append(b, say.Definition)
	b = appendTime(appendHeadOf(b, &say.Head), say.At)
	k, v := &say.Knows, voiceSay{}
	if say.Voice != nil {
		v = *say.Voice
	}
	granted := say.Granted == say.URL
	b = appendFlags(b, k.Noise, k.Recall, k.BaseBody, k.HeldText, k.Items, k.Fields, k.Recent, say.Voice != nil, v.Index, v.Anew, granted)
	if !granted {
		b = appendText(b, say.Granted)
	}
	b = appendText(b, say.Robots)
	b = binary.AppendUvarint(b, uint64(len(say.Along)))
	for i := range say.Along {
		b = say.Along[i].appendLean(b, known)
	}
	return b
}

// order reads an order.
func (r *lean) order(known *heard, depth int) (say orderSay) {
	say.Source, say.URL = freshet.SourceID(r.text()), r.text()
	say.read = known.read(r)
	say.Head, say.At = r.head(), r.time()
	k, v := &say.Knows, voiceSay{}
	var speaks, granted bool
	r.flags(&k.Noise, &k.Recall, &k.BaseBody, &k.HeldText, &k.Items, &k.Fields, &k.Recent, &speaks, &v.Index, &v.Anew, &granted)
	if speaks {
		say.Voice = &v
	}
	if say.Granted = say.URL; !granted {
		say.Granted = r.text()
	}
	say.Robots = r.text()
	for range r.nested(depth) {
		if r.err == nil {
			say.Along = append(say.Along, r.order(known, depth+1))
		}
	}
	return say
}

// nested returns how many orders or findings follow within one.
func (r *lean) nested(depth int) int {
	n := r.count(mostBlobs)
	if r.within += n; r.within > mostBlobs || n > 0 && depth >= mostNested {
		r.fail()
		return 0
	}
	return n
}

func appendHeadOf(b []byte, h *freshet.Head) []byte {
	b = appendText(appendHash(binary.AppendVarint(b, int64(h.Number)), h.Hash), h.Recipe)
	b = appendSums(appendTime(appendValidators(b, h.Validators), h.Asked), &h.Sums)
	b = appendText(appendText(appendMoved(b, h.Moved), h.Suspect), h.Landed)
	return appendHeld(binary.AppendVarint(b, h.Polls), &h.Held)
}

func (r *lean) head() freshet.Head {
	return freshet.Head{
		Number: int(r.int()), Hash: r.hash(), Recipe: r.text(), Validators: r.validators(), Asked: r.time(), Sums: r.sums(),
		Moved: r.moved(), Suspect: freshet.Suspect(r.text()), Landed: r.text(), Polls: r.int(), Held: r.held(),
	}
}

func appendValidators(b []byte, v freshet.Validators) []byte {
	return appendText(appendText(b, v.ETag), v.LastModified)
}

func (r *lean) validators() freshet.Validators {
	return freshet.Validators{ETag: r.text(), LastModified: r.text()}
}

func appendSums(b []byte, s *freshet.Sums) []byte {
	if b = appendFlags(b, *s != freshet.Sums{}, s.Known); *s == (freshet.Sums{}) {
		return b
	}
	b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, s.Body), s.Text)
	return binary.AppendVarint(b, int64(s.Fresh))
}

func (r *lean) sums() (s freshet.Sums) {
	var any bool
	if r.flags(&any, &s.Known); !any {
		return freshet.Sums{}
	}
	if both := r.bytes(16); both != nil {
		s.Body, s.Text = binary.LittleEndian.Uint64(both), binary.LittleEndian.Uint64(both[8:])
	}
	s.Fresh = r.duration()
	return s
}

func appendMoved(b []byte, m freshet.Moved) []byte { return appendTime(appendText(b, m.URL), m.At) }

func (r *lean) moved() freshet.Moved { return freshet.Moved{URL: r.text(), At: r.time()} }

func appendHeld(b []byte, h *freshet.Held) []byte {
	if b = appendFlags(b, *h != freshet.Held{}); *h == (freshet.Held{}) {
		return b
	}
	b = appendText(appendHash(binary.AppendVarint(b, int64(h.Number)), h.Hash), h.Recipe)
	b = appendText(appendText(appendText(b, h.Suspect), h.Landed), h.Summary)
	b = appendTime(appendTime(b, h.Seen), h.Since)
	b = binary.AppendVarint(binary.AppendVarint(b, int64(h.Looks)), int64(h.Agreed))
	return appendTime(b, h.Again)
}

func (r *lean) held() freshet.Held {
	var any bool
	if r.flags(&any); !any {
		return freshet.Held{}
	}
	return freshet.Held{
		Number: int(r.int()), Hash: r.hash(), Recipe: r.text(), Suspect: freshet.Suspect(r.text()), Landed: r.text(), Summary: r.text(),
		Seen: r.time(), Since: r.time(), Looks: int(r.int()), Agreed: int(r.int()), Again: r.time(),
	}
}
