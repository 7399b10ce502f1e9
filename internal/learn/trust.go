package learn

import "math"

// A trust is how far an index can be believed, both ways. BorneOut is the chance that a
// page has changed when the index says so, beside the chance that it has anyway: an
// index that stamps all pages whenever it is built loses it. Leaks is the share of the
// changes that the index keeps quiet: one that forgets to touch its dates leaks.
//
// Both are learned by Bayes' rule from every poll of a page that the index speaks for, so
// it does not matter how rarely pages are polled that are said to be quiet: each poll
// says as much as its own chance to find something.
type trust struct {
	bears        conviction
	keeps        [2]conviction // of pages that the index has not dated, and of those that it has
	borneOut     float64
	leaks        [2]float64
	right, times float32 // of polls that it was held against; what is long past counts for less
}

// A conviction is the logarithm of how well each of some shares fits what was seen.
type conviction [shares]float32

const shares = 8

// The shares of the grid. No index is taken to be beyond any doubt: some pages
// that are said to be quiet are polled, and show when that is true no more.
var (
	bearing = [shares]float64{0, 0.1, 0.25, 0.5, 0.7, 0.85, 0.95, 0.99}
	leaking = [shares]float64{0.01, 0.03, 0.08, 0.2, 0.4, 0.6, 0.8, 1}
)

const (
	trustKeeps = 0.95 // of what was seen, after a poll that says much
	kindGrip   = 0.25 // what is seen of an index counts for others of its kind
	kindKeeps  = 0.99
	surest     = 8 // that one share is against another, as a logarithm: who turns liar is found out by a few lies
	kindSurest = 2
	tallyKeeps = 0.98
)

// A kindTrust is what indexes of one kind have in common.
type kindTrust struct {
	bears conviction
	keeps [2]conviction
}

// newHubs returns what is thought of hubs: that they keep most changes quiet, since a
// page that changes has its links for long.
func newHubs() (k kindTrust) {
	for i := range k.keeps {
		for j, share := range leaking {
			k.keeps[i][j] = float32(math.Log(share))
		}
	}
	return k
}

// worth returns how far what an index says of a page stands in for polls.
func (t *trust) worth(v *pageHint) float64 { return t.borneOut * (1 - t.leaks[v.dates()]) }

// bear takes in whether a poll found a change that the index had announced, if there was
// such a chance of one anyway.
func (t *trust) bear(chance float64, found bool, k *kindTrust) {
	var fit [shares]float64
	for i, share := range bearing {
		right := share + (1-share)*chance
		if !found {
			right = 1 - right
		}
		fit[i] = math.Log(bounded(right))
	}
	t.bears.admit(&fit, trustKeeps, 1, surest)
	k.bears.admit(&fit, kindKeeps, kindGrip, kindSurest)
	t.count(found)
	t.renew(k)
}

// leak takes in whether a poll found a change that the index had not announced, where so
// many were expected.
func (t *trust) leak(v *pageHint, expected float64, found bool, k *kindTrust) {
	var fit [shares]float64
	for i, share := range leaking {
		fit[i] = -share * expected
		if found {
			fit[i] = math.Log(bounded(-math.Expm1(-share * expected)))
		}
	}
	says := -math.Expm1(-expected) // next to nothing if nothing was to be expected
	t.keeps[v.dates()].admit(&fit, math.Pow(trustKeeps, says), 1, surest)
	k.keeps[v.dates()].admit(&fit, math.Pow(kindKeeps, says), kindGrip, kindSurest)
	if says > 0.1 {
		t.count(!found)
	}
	t.renew(k)
}

// count counts a poll that the index was held against.
func (t *trust) count(right bool) {
	t.right, t.times = tallyKeeps*t.right, tallyKeeps*t.times+1
	if right {
		t.right++
	}
}

// renew works out the shares again.
func (t *trust) renew(k *kindTrust) {
	t.borneOut = t.bears.mean(&k.bears, &bearing)
	for i := range t.leaks {
		t.leaks[i] = t.keeps[i].mean(&k.keeps[i], &leaking)
	}
}

// admit takes in how likely each share makes what was seen.
func (c *conviction) admit(fit *[shares]float64, keep, weight, most float64) {
	top := math.Inf(-1)
	for i := range c {
		c[i] = float32(keep*float64(c[i]) + weight*fit[i])
		top = max(top, float64(c[i]))
	}
	for i := range c {
		c[i] = max(c[i]-float32(top), float32(-most))
	}
}

// mean returns the share, by this conviction and that of its kind.
func (c *conviction) mean(kind *conviction, of *[shares]float64) float64 {
	sum, all := 0.0, 0.0
	for i, share := range of {
		w := math.Exp(float64(c[i]) + float64(kind[i]))
		sum += w * share
		all += w
	}
	return sum / all
}
