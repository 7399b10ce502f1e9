package api

import (
	"cmp"
	"fmt"

	"freshet/client"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/suspect"
	"freshet/internal/mask"
)

// trouble is what may be wrong with a page: it is watched, or was only looked at.
type trouble struct {
	source  freshet.Source
	failure failure.Class
	suspect suspect.Class
	landed  string // the page that answered, if it is another one
	moved   string // where permanent redirects lead
	noisy   bool
	blank   bool // the page has scripts, and hardly any text without them

	checksum bool // the response is not read as text
}

// remedies returns what may help, the likeliest first; nothing if nothing is wrong.
func (t trouble) remedies() (all []client.Remedy) {
	if t.failure != "" {
		all = t.ofFailure()
	} else if t.suspect != "" {
		all = t.ofSuspect()
	}
	if t.blank && t.suspect != suspect.Empty && t.failure == "" {
		all = append(all, t.render("The page has hardly any text without JavaScript."))
	}
	if t.checksum && t.failure == "" {
		all = append(all, client.Remedy{What: "choose", Words: "Say what it is", Command: "freshet edit " + t.name() + " --kind KIND",
			Why: "The response is compared by its size and checksum: it is not text, or is in a format that cannot be read."})
	}
	if t.noisy {
		if t.source.Noise != freshet.NoiseAuto {
			all = append(all, t.edit("ignore", "Ignore parts that always change", "Versions that differ in those parts alone are stored without a change.", map[string]any{"noise": "auto"}, "--noise auto"))
		}
		all = append(all, t.choose("Compare only the part that you need."))
	}
	if t.moved != "" {
		all = append(all, t.follow(t.moved, "The server says that the page has moved for good."))
	}
	return all
}

func (t trouble) ofSuspect() []client.Remedy {
	accept := client.Remedy{What: "accept", Words: "Accept this version", Why: "It is the page that you want; later polls compare with it.", Command: "freshet confirm " + t.name()}
	switch t.suspect {
	case suspect.Empty, suspect.Shrunk:
		return t.unlessRendered("The page may need JavaScript.", accept)
	case suspect.Login:
		return []client.Remedy{t.login(), accept}
	case suspect.Blocked:
		return append(t.unlessRendered("Some sites let browsers in that they refuse to programs.", t.slower()), accept)
	case suspect.Consent:
		return []client.Remedy{t.edit("consent", "Reject cookies in a browser", "The page is shown in a browser that answers the form.", map[string]any{"render": map[string]any{"consent": "reject"}}, `--render '{"consent": "reject"}'`), accept}
	case suspect.Redirected:
		if t.landed == "" || t.moved != "" {
			return []client.Remedy{accept}
		}
		return []client.Remedy{t.follow(t.landed, "The page is at another address."), accept}
	case suspect.Language:
		return []client.Remedy{t.edit("language", "Ask for English", "The server chooses the language by what is asked for.", map[string]any{"request": map[string]any{"language": "en"}}, "--language en"), accept}
	case suspect.Flapping:
		return []client.Remedy{t.choose("Compare a part that does not alternate, or take its value as a field."), accept}
	}
	return []client.Remedy{accept}
}

func (t trouble) ofFailure() []client.Remedy {
	again := client.Remedy{What: "poll", Words: "Try now", Why: "It may have passed.", Command: "freshet poll " + t.name()}
	pause := t.edit("pause", "Pause", "It is not polled until you resume it.", map[string]any{"paused": true}, "")
	pause.Command = "freshet pause " + t.name()
	switch f := t.failure; {
	case f.Is(failure.HTTP.WithStatus(401)), f.Is(failure.Login), f.Is(failure.Token), f.Is(failure.Secret):
		return []client.Remedy{t.login(), again}
	case f.Is(failure.HTTP.WithStatus(403)):
		return append(t.unlessRendered("Some sites let browsers in that they refuse to programs.", t.login()), again)
	case f.Is(failure.Gone), f.Is(failure.HTTP):
		return []client.Remedy{again, pause}
	case f.Is(failure.LargeWire), f.Is(failure.LargeDecoded):
		return []client.Remedy{{What: "limit", Words: "Raise the limit", Why: "Set fetch.wire_bytes and fetch.decoded_bytes in the configuration file, and restart the daemon.", Command: "freshet check"}, pause}
	case f.Is(failure.Robots):
		return []client.Remedy{t.edit("robots", "Poll it in spite of robots.txt", "Its robots.txt asks programs to stay away; this is your decision.", map[string]any{"robots": "ignore"}, "--robots ignore"), pause}
	case f.Is(failure.RenderMissing), f.Is(failure.RenderStart):
		return []client.Remedy{{What: "browser", Words: "Install Chromium", Why: "Pages are rendered in Chromium, which was not found.", Command: "sudo apt-get install chromium"}, t.edit("render", "Do not render", "The page is read as it is fetched.", map[string]any{"render": nil}, "--render=false")}
	case f.Is(failure.RetryAfter), f.Is(failure.DeferredHost):
		return []client.Remedy{t.slower(), again}
	case f.Is(failure.DeferredBudget):
		return []client.Remedy{{What: "limit", Words: "Raise the budget", Why: "The budget has no room for all requests of this page.", Command: "freshet settings budget=120/m"}, again}
	case f.Is(failure.Extract):
		return []client.Remedy{t.choose("What is selected is not on the page, or no longer."), again}
	}
	return []client.Remedy{again, pause}
}

func (t trouble) unlessRendered(why string, others ...client.Remedy) []client.Remedy {
	if t.source.Recipe.Render.On {
		return others
	}
	return append([]client.Remedy{t.render(why)}, others...)
}

func (t trouble) render(why string) client.Remedy {
	return t.edit("render", "Render it in a browser", why, map[string]any{"render": true}, "--render")
}

func (t trouble) login() client.Remedy {
	return client.Remedy{What: "login", Words: "Log in", Why: "Send a header, a cookie or a password with each request, or fill in the form.", Command: "freshet edit " + t.name() + " --header 'Cookie: ${secret:NAME}'"}
}

func (t trouble) slower() client.Remedy {
	return t.edit("slower", "Ask at most once an hour", "The server wants fewer requests.", map[string]any{"min_gap": "1h"}, "--min-gap 1h")
}

func (t trouble) choose(why string) client.Remedy {
	return client.Remedy{What: "choose", Words: "Choose a part", Why: why, Command: "freshet test suggest " + t.name()}
}

func (t trouble) follow(to, why string) client.Remedy {
	shown := mask.URL(to)
	r := t.edit("follow", "Watch it there", why, map[string]any{"url": shown}, fmt.Sprintf("--url '%s'", shown))
	if shown != to { // what is masked cannot be sent back
		r.Edit = nil
	}
	return r
}

func (t trouble) edit(what, words, why string, edit map[string]any, flags string) client.Remedy {
	return client.Remedy{What: what, Words: words, Why: why, Edit: edit, Command: "freshet edit " + t.name() + " " + flags}
}

func (t trouble) name() string { return cmp.Or(string(t.source.ID), "SOURCE") }

// remediesOf returns what may help with a source.
func remediesOf(w freshet.SourceWithStatus) []client.Remedy {
	t := trouble{source: w.Source, landed: w.Status.Landed, moved: w.Status.Moved.URL, noisy: w.Noisy()}
	if w.Status.Failures > 0 {
		t.failure = w.Status.Failure
	}
	t.suspect = w.Status.Suspect
	return t.remedies()
}
