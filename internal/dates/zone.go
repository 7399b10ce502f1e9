package dates

const hour = 3600

// offsets are those of the abbreviations that are written behind a time, in seconds east of
// UTC; package time knows only those of the local zone. Where an abbreviation has several meanings (IST, CST in
// China) it is left out, or means what it does in RFC 822.
var offsets = map[string]int{
	"Z": 0, "UTC": 0, "GMT": 0, "UT": 0, "WET": 0, "WEST": hour, "BST": hour,
	"CET": hour, "MET": hour, "MEZ": hour, "CEST": 2 * hour, "MEST": 2 * hour, "MESZ": 2 * hour,
	"EET": 2 * hour, "EEST": 3 * hour, "MSK": 3 * hour,
	"SGT": 8 * hour, "HKT": 8 * hour, "JST": 9 * hour, "AEST": 10 * hour, "AEDT": 11 * hour, "NZST": 12 * hour, "NZDT": 13 * hour,
	"EST": -5 * hour, "EDT": -4 * hour, "CST": -6 * hour, "CDT": -5 * hour, "MST": -7 * hour, "MDT": -6 * hour, "PST": -8 * hour, "PDT": -7 * hour,
	"AKST": -9 * hour, "AKDT": -8 * hour, "HST": -10 * hour,
}

// Offset returns the seconds east of UTC of a zone by its abbreviation, in upper case.
func Offset(name string) (seconds int, ok bool) {
	seconds, ok = offsets[name]
	return seconds, ok
}
