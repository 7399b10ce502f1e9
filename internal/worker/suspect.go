package worker

import (
	"cmp"

	"freshet/internal/extract/wrongpage"
	"freshet/internal/freshet"
)

// steady says what is still held against a page that is as it was, and where it
// landed.
func (o *Order) steady(resp freshet.Response) (freshet.Suspect, string) {
	landed := o.landed(resp)
	if o.Source.Suspect == freshet.IgnoreSuspects {
		return "", landed
	}
	if landed == o.Head.Landed || landed != "" && o.Head.Landed != "" && samePage(landed, o.Head.Landed) {
		return o.Head.Suspect, landed
	}
	if why := o.redirected(resp, landed); why != "" || o.Head.Suspect == freshet.SuspectRedirected {
		return why, landed
	}
	return o.Head.Suspect, landed
}

// landed returns the URL that answered, if it names another page than the source's.
func (o *Order) landed(resp freshet.Response) string {
	if samePage(o.Source.URL, resp.URL) {
		return ""
	}
	return resp.URL
}

// suspicion says why what a look saw is suspect, and where it landed. The past is nil
// if there is none to hold it against. Somebody who watches a page that is called a
// login wants to see one.
func (o *Order) suspicion(resp freshet.Response, seen wrongpage.Page, past *wrongpage.Past) (freshet.Suspect, string) {
	landed := o.landed(resp)
	if o.Source.Suspect == freshet.IgnoreSuspects {
		return "", landed
	}
	why := o.redirected(resp, landed)
	says := wrongpage.Judge(seen, past)
	if says != "" && says == pageOf(o.Source.URL).obstacle() {
		says = ""
	}
	// That another page answered says more than how that one looks, unless it is a
	// wall: what a wall hides is not known, wherever it stands.
	known := why == o.Head.Suspect && samePage(o.Head.Landed, landed)
	if says != "" && (why == "" || known || wrongpage.Hides(says) && !wrongpage.Hides(why)) {
		why = says
	}
	return why, landed
}

// redirected says why the page is suspect that redirects led to, if it is.
//
// A permanent redirect is told as where the source has moved to, and needs no
// second word, unless it leads to the front page: then the page is gone. A front
// page may redirect to whatever its site begins with. A URL that leads to one page
// and then to another, such as that of the latest release, is a pointer, and it is
// normal that it leads elsewhere.
func (o *Order) redirected(resp freshet.Response, landed string) freshet.Suspect {
	if landed == "" {
		return ""
	}
	asked, answered := pageOf(o.Source.URL), pageOf(landed)
	if why := answered.obstacle(); why != "" && why != asked.obstacle() {
		return why
	}
	if answered.isFront() && !asked.isFront() {
		return freshet.SuspectRedirected
	}
	permanent := resp.Moved
	if o.moved() {
		permanent = cmp.Or(resp.Moved, o.Head.Moved.URL)
	}
	head := o.Head
	led, why := head.Landed, head.Suspect // where it led last time
	if head.Held.Number > 0 {
		led, why = head.Held.Landed, head.Held.Suspect
	}
	switch {
	case permanent != "" && samePage(permanent, landed),
		asked.isFront() && asked.sameSite(answered),
		answered.isBelow(asked),
		asked.isPointer(),
		head.Number > 0 && head.Landed != "" && head.Suspect == "",
		why == freshet.SuspectRedirected && led != "" && !samePage(led, landed) && pageOf(led).path != answered.path:
		return ""
	}
	return freshet.SuspectRedirected
}
