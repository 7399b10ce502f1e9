package listing

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
)

// ErrDamaged means that what is to be read is not a trust as this version saves it.
var ErrDamaged = errors.New("listing: not a trust that was saved by this version")

// encoding is the version of what is saved.
const encoding = 1

// A Trust learns from polls whether the dates that a site gives its pages are true. The
// zero Trust knows nothing and trusts nothing.
//
// Two things are learnt. Announced is the share of the changes that a poll found and
// the date had told: a site that forgets to touch its dates loses it. Borne out is the
// share of new dates with which a poll found a change: a site that stamps all pages
// whenever it is built loses it. Both are Beta distributions over the last polls that
// bear on them, older ones fading away; dates are believed only as far as both are
// probably high. So a few lies cost the trust of many true dates, and many true dates
// later bring it back.
type Trust struct {
	announced, borneOut share
	believed            bool
}

// A share is a belief about how often something is so: how often it was and how often
// it was not, of late.
type share struct{ yes, no float64 }

const (
	// fading is how much of what was learnt is left when one more case is. It leaves
	// the last 40 cases or so.
	fading = 1 - 1.0/40

	// Where dates stand in for polls, the changes that nobody announced come to be
	// seen late: that must be rare. A date that was not borne out costs one poll. It
	// takes more to be believed than to stay so, or one poll would decide back and
	// forth.
	beginAnnounced, endAnnounced = 0.90, 0.85
	beginBorneOut, endBorneOut   = 0.60, 0.50

	// caution is by how many standard deviations a share is taken to be lower than
	// it seems.
	caution = 1.28

	// mostStands bounds how many polls one may stand for, so that no single one
	// decides.
	mostStands = 20
)

// Tell takes what a poll of a page found: whether the date of the page said, since the
// poll before, that it had changed, and whether it had.
//
// While dates stand in for polls, pages whose date says nothing are hardly polled, and
// what their dates keep quiet about would not be seen. Some must be polled even so, and
// each then stands for those that were not: with one in ten, stands is 10. It is 1 for a
// page that would have been polled anyway.
func (t *Trust) Tell(said, found bool, stands float64) {
	if !(stands >= 1) {
		stands = 1
	}
	stands = min(stands, mostStands)
	if found {
		t.announced.tell(said, stands)
	}
	if said {
		t.borneOut.tell(found, stands)
	}
	announced, borneOut := t.announced.probably(), t.borneOut.probably()
	if t.believed {
		t.believed = announced >= endAnnounced && borneOut >= endBorneOut
	} else {
		t.believed = announced >= beginAnnounced && borneOut >= beginBorneOut
	}
}

func (s *share) tell(yes bool, weight float64) {
	left := math.Pow(fading, weight)
	s.yes *= left
	s.no *= left
	if yes {
		s.yes += weight
	} else {
		s.no += weight
	}
}

// mean returns the share, and one half if nothing is known.
func (s share) mean() float64 { return (s.yes + 1) / (s.yes + s.no + 2) }

// probably returns what the share is at least, most probably.
func (s share) probably() float64 {
	n := s.yes + s.no + 2
	m := s.mean()
	return max(0, m-caution*math.Sqrt(m*(1-m)/(n+1)))
}

// StandIn reports whether the dates of this site may stand in for polls: whether a page
// may be left alone while its date stays, and polled when it moves.
func (t Trust) StandIn() bool { return t.believed }

// Announced returns the share of changes that the dates tell of, and probably at least
// how much it is. 1 minus the share is by how much a page changes as often as ever
// though its date stays.
func (t Trust) Announced() (share, atLeast float64) {
	return t.announced.mean(), t.announced.probably()
}

// BorneOut returns the share of new dates that come with a change, and probably at
// least how much it is.
func (t Trust) BorneOut() (share, atLeast float64) {
	return t.borneOut.mean(), t.borneOut.probably()
}

// trustBytes is how many bytes a Trust has in storage.
const trustBytes = 1 + 1 + 4*8 + 4

// MarshalBinary returns the trust with a checksum.
func (t Trust) MarshalBinary() ([]byte, error) {
	b := make([]byte, 0, trustBytes)
	b = append(b, encoding, 0)
	if t.believed {
		b[1] = 1
	}
	for _, f := range []float64{t.announced.yes, t.announced.no, t.borneOut.yes, t.borneOut.no} {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
	}
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b)), nil
}

// UnmarshalBinary reads what MarshalBinary returned. If that is damaged it returns
// ErrDamaged and leaves the trust as it was.
func (t *Trust) UnmarshalBinary(b []byte) error {
	if len(b) != trustBytes || b[0] != encoding || b[1] > 1 || crc32.ChecksumIEEE(b[:len(b)-4]) != binary.LittleEndian.Uint32(b[len(b)-4:]) {
		return ErrDamaged
	}
	var f [4]float64
	for i := range f {
		f[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[2+8*i:]))
		if !(f[i] >= 0 && f[i] <= 1e6) {
			return ErrDamaged
		}
	}
	*t = Trust{share{f[0], f[1]}, share{f[2], f[3]}, b[1] == 1}
	return nil
}
