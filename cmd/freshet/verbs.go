package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// The groups in which help lists the verbs.
const (
	daily    = "daily"
	running  = "running"
	sources  = "sources"
	history  = "history"
	learning = "learning"
	people   = "people"
	trials   = "trials"
)

// A verb is a command below freshet. It is made when it is needed: most of its cost is
// its flags, and a command line needs one of all verbs.
type verb struct {
	name  string
	group string // "" hides it from help
	make  maker
}

// A maker makes a command.
type maker func(*program) *cobra.Command

// verbs are what freshet can do, by the groups in which help lists them.
func verbs() []verb {
	return []verb{
		{"add", daily, addVerb},
		{"list", daily, listVerb},
		{"show", daily, showVerb},
		{"diff", daily, diffVerb},
		{"changes", daily, changesVerb},
		{"alert", daily, alertVerb},
		{"status", daily, statusVerb},
		{"serve", running, with(serveVerb, onceVerb)},
		{"watch", running, watchVerb},
		{"edit", sources, with(editVerb, bulkVerb)},
		{"remove", sources, removeVerb},
		{"pause", sources, pauseVerb},
		{"resume", sources, resumeVerb},
		{"poll", sources, with(pollVerb, hookVerb)},
		{"test", sources, with(testVerb, suggestVerb)},
		{"confirm", sources, confirmVerb},
		{"site", sources, siteVerb},
		{"import", sources, importVerb},
		{"apply", sources, applyVerb},
		{"history", history, with(historyVerb, logVerb, screenshotVerb)},
		{"cat", history, catVerb},
		{"search", history, searchVerb},
		{"export", history, exportVerb},
		{"query", history, queryVerb},
		{"sink", history, sinkVerb},
		{"why", learning, whyVerb},
		{"budget", learning, with(budgetVerb, numbersVerb)},
		{"learning", learning, learningVerb},
		{"user", people, with(userVerb, tokenVerb, shareVerb, auditVerb)},
		{"settings", people, with(settingsVerb, secretVerb)},
		{"check", people, with(checkVerb, egressVerb)},
		{"doctor", people, doctorVerb},
		{"backup", people, with(backupVerb, restoreVerb)},
		{"cluster", people, with(clusterVerb, workerVerb, moveVerb)},
		{"lab", trials, with(labVerb, demoVerb, planVerb)},
		{"docs", "", docsVerb},
		{"version", "", versionVerb},
		{"man", "", manVerb},
		{"mcp", "", mcpVerb}, // programs run it
		{"extract", "", extractVerb},
		{"launch", "", launchVerb},
	}
}

// A formerVerb is a verb under the name that it had before.
type formerVerb struct {
	name string
	now  string // after freshet
	make maker
}

// formerVerbs are verbs that have become part of others. Each works under its former name for one release,
// and says what to write instead.
func formerVerbs() []formerVerb {
	return []formerVerb{
		{"once", "serve once", onceVerb},
		{"bulk", "edit bulk", bulkVerb},
		{"hook", "poll hook", hookVerb},
		{"suggest", "test suggest", suggestVerb},
		{"log", "history log", logVerb},
		{"screenshot", "history screenshot", screenshotVerb},
		{"numbers", "budget numbers", numbersVerb},
		{"rhythm", "learning rhythm", rhythmVerb},
		{"chances", "learning forecast", forecastVerb},
		{"teach", "learning import", teachVerb},
		{"token", "user token", tokenVerb},
		{"share", "user share", shareVerb},
		{"audit", "user audit", auditVerb},
		{"secret", "settings secret", secretVerb},
		{"egress", "check egress", formerEgressVerb},
		{"worker", "cluster worker", workerVerb},
		{"hand", "cluster worker", workerVerb},
		{"move", "cluster move", moveVerb},
		{"restore", "backup restore", restoreVerb},
		{"demo", "lab demo", demoVerb},
		{"plan", "lab plan", planVerb},
	}
}

// with makes the verbs of some makers part of another verb.
func with(whole maker, parts ...maker) maker {
	return func(p *program) *cobra.Command {
		cmd := whole(p)
		for _, part := range parts {
			cmd.AddCommand(part(p))
		}
		return cmd
	}
}

// addVerbs adds the verb that a command line begins with or, if that is none, all verbs.
func (p *program) addVerbs(root *cobra.Command, args []string) {
	wanted, former := verbs(), formerVerbs()
	if len(args) > 0 {
		if i := slices.IndexFunc(wanted, func(v verb) bool { return v.name == args[0] }); i >= 0 {
			wanted, former = wanted[i:i+1], nil
		} else if i := slices.IndexFunc(former, func(v formerVerb) bool { return v.name == args[0] }); i >= 0 {
			wanted, former = nil, former[i:i+1]
		}
	}
	for _, v := range wanted {
		cmd := v.make(p)
		cmd.GroupID, cmd.Hidden = v.group, v.group == ""
		root.AddCommand(cmd)
	}
	for _, v := range former {
		cmd := v.make(p)
		_, arguments, _ := strings.Cut(cmd.Use, " ")
		cmd.Use, cmd.Hidden = strings.TrimSpace(v.name+" "+arguments), true
		deprecate(cmd, "freshet "+v.now)
		root.AddCommand(cmd)
	}
}

// nowNamed is the annotation of a command under a former name: what to write instead.
const nowNamed = "now named"

// deprecate has a verb and its parts say what to write instead.
func deprecate(cmd *cobra.Command, now string) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[nowNamed] = cmp.Or(cmd.Annotations[nowNamed], now)
	for _, part := range cmd.Commands() {
		deprecate(part, now+" "+part.Name())
	}
}
