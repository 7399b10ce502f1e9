package sites

import (
	"slices"
	"strings"
)

// trackers are parameters that say where a visitor came from. No server shows another
// page because of them.
var trackers = map[string]bool{
	"gclid": true, "gclsrc": true, "dclid": true, "gbraid": true, "wbraid": true, "gad_source": true, "gad_campaignid": true, "srsltid": true,
	"fbclid": true, "fb_action_ids": true, "fb_action_types": true, "fb_source": true, "fb_ref": true, "igshid": true, "igsh": true,
	"msclkid": true, "twclid": true, "ttclid": true, "yclid": true, "ymclid": true, "_openstat": true, "li_fat_id": true, "epik": true, "rdt_cid": true, "scclid": true,
	"mc_cid": true, "mc_eid": true, "mkt_tok": true, "vero_id": true, "vero_conv": true, "oly_enc_id": true, "oly_anon_id": true, "wickedid": true, "ml_subscriber": true, "ml_subscriber_hash": true,
	"_ga": true, "_gl": true, "_hsenc": true, "_hsmi": true, "__hstc": true, "__hssc": true, "__hsfp": true, "hsctatracking": true,
	"s_cid": true, "sc_cid": true, "cmpid": true, "irclickid": true, "irgwc": true, "rb_clickid": true, "_branch_match_id": true, "ref_src": true, "ref_url": true,
	"wt_mc": true, "wt_zmc": true, "at_medium": true, "at_campaign": true, "at_custom1": true, "at_custom2": true, "spm": true, "guccounter": true, "guce_referrer": true, "guce_referrer_sig": true,
}

var trackerFamilies = []string{"utm_", "mtm_", "pk_", "piwik_", "matomo_", "hsa_"}

// sessions are parameters that hold the id of a visit, whatever the id looks like.
var sessions = map[string]bool{"jsessionid": true, "phpsessid": true, "cftoken": true, "cfid": true, "oscsid": true, "zenid": true, "xtcsid": true, "xtsid": true}

// maybeSessions hold the id of a visit in one program and of a story in another. It is a
// visit if the id was drawn at random.
var maybeSessions = map[string]bool{"sid": true, "sessionid": true, "session_id": true, "sessid": true, "session": true, "s": true, "sess": true, "ssid": true}

// idle reports whether a parameter makes no other page: it tracks, or is a session.
func idle(name, value string) bool {
	name = strings.ToLower(name)
	if trackers[name] || sessions[name] || strings.HasPrefix(name, "aspsessionid") || strings.HasPrefix(name, "phpsessid") {
		return true
	}
	for _, family := range trackerFamilies {
		if strings.HasPrefix(name, family) {
			return true
		}
	}
	return maybeSessions[name] && token(value)
}

// token reports whether a word was drawn at random and not written by anybody: it is
// long, of letters and digits that take turns.
func token(word string) bool {
	if len(word) < 16 || len(word) > 256 {
		return false
	}
	digits, letters, turns := 0, 0, 0
	for i := range len(word) {
		switch c := word[i]; {
		case '0' <= c && c <= '9':
			digits++
			if i > 0 && !isDigit(word[i-1]) {
				turns++
			}
		case isWord(c):
			letters++
		case c != '-' && c != '_' && c != '.' && c != ',':
			return false
		}
	}
	return digits >= 3 && letters >= 1 && turns >= 3
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// tidyQuery leaves out parameters that make no other page and sorts the others by name.
// Values of one name keep their order. So does a first word without "=": in
// ?/topic/17&page=2 it is the page.
func tidyQuery(query string) string {
	if query == "" {
		return ""
	}
	kept := make([]string, 0, 8)
	for part := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(part, "=")
		if part != "" && !idle(name, value) {
			kept = append(kept, part)
		}
	}
	sorted := kept
	if len(kept) > 0 && !strings.Contains(kept[0], "=") {
		sorted = kept[1:]
	}
	slices.SortStableFunc(sorted, func(a, b string) int {
		nameA, _, _ := strings.Cut(a, "=")
		nameB, _, _ := strings.Cut(b, "=")
		return strings.Compare(nameA, nameB)
	})
	return strings.Join(kept, "&")
}

// tidyPath takes session ids out of a path: /cart;jsessionid=17 and /(S(17))/cart.
func tidyPath(path string) string {
	if !strings.Contains(path, ";") && !strings.Contains(path, "/(") {
		return path
	}
	kept := make([]string, 0, 8)
	for segment := range strings.SplitSeq(path[1:], "/") {
		if segment = withoutSession(segment); !cookieless(segment) {
			kept = append(kept, segment)
		}
	}
	return "/" + strings.Join(kept, "/")
}

// cookieless reports whether a segment is a session as ASP.NET writes it, such as (S(ab12)).
func cookieless(segment string) bool {
	if len(segment) < 5 || !strings.HasPrefix(segment, "(") || !strings.HasSuffix(segment, "))") || segment[2] != '(' {
		return false
	}
	return strings.IndexByte("ASFX", segment[1]) >= 0
}

// withoutSession returns a segment without its path parameters that hold a session. A
// segment that would become a dot segment stays, because then it would lead elsewhere.
func withoutSession(segment string) string {
	parts := strings.Split(segment, ";")
	kept := parts[:1]
	for _, part := range parts[1:] {
		name, value, _ := strings.Cut(part, "=")
		if lower := strings.ToLower(name); !sessions[lower] && !(maybeSessions[lower] && token(value)) {
			kept = append(kept, part)
		}
	}
	if len(kept) == 1 && (kept[0] == "." || kept[0] == "..") {
		return segment
	}
	return strings.Join(kept, ";")
}
