package main

import (
	"fmt"

	"freshet/client"
)

// showEffect prints what an edit of settings would bring.
func (p *program) showEffect(e client.SettingsEffect) error {
	if len(e.Changed) == 0 {
		_, err := fmt.Fprintln(p.out, "Nothing would change.")
		return err
	}
	t := table{head: []string{"SETTING", "NOW", "THEN"}}
	for _, c := range e.Changed {
		t.add(plain(c.Key), plain(c.From), plain(c.To))
	}
	s := p.screen()
	if err := t.write(p.out, s); err != nil {
		return err
	}
	for _, line := range effectInWords(e) {
		fmt.Fprintln(p.out, s.prose(line, "  "))
	}
	return nil
}

// effectInWords says what an edit would delete, and what would be captured then.
func effectInWords(e client.SettingsEffect) (lines []string) {
	if d := e.Drops; d != nil {
		switch {
		case d.Versions == 0 && d.Outcomes == 0:
			lines = append(lines, "Nothing would be deleted now.")
		default:
			lines = append(lines, fmt.Sprintf("It would delete %s (about %s) and %s. They cannot be brought back.",
				counted(d.Versions, "version"), roughSize(d.Bytes), counted2(int(d.Outcomes), "result of a poll", "results of polls")))
		}
	}
	if o := e.Polling; o != nil {
		if o.TooEarly != "" {
			lines = append(lines, "What would be captured is not known yet: "+o.TooEarly+".")
		} else {
			lines = append(lines, "Now: "+pointInWords(o.Now), "Then: "+pointInWords(o.Then))
		}
		lines = append(lines, fmt.Sprintf("There is use for %s requests a day now, and for %s then.", rough(o.Now.SpentPerDay), rough(o.Then.SpentPerDay)))
	}
	return lines
}
