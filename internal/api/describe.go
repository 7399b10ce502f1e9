package api

import (
	"slices"

	"github.com/danielgtaylor/huma/v2"
)

// describe returns what the API says of itself. Everything that huma would
// load from elsewhere is left out: an operator's browser is sent nowhere.
func describe(version string) huma.Config {
	c := huma.DefaultConfig("Freshet", version)
	c.Info.Description = "Watches web pages, feeds and JSON APIs within a budget of requests, and reports what changed."
	c.Info.Contact = &huma.Contact{Name: "The operator of this daemon"}
	c.Info.License = &huma.License{Name: "Apache License 2.0", Identifier: "Apache-2.0"}
	c.Servers = []*huma.Server{{URL: "/", Description: "This daemon"}}
	c.Tags = tagsOfAPI
	if c.Security == nil {
		c.Security = []map[string][]string{} // none
	}
	c.DocsPath, c.SchemasPath = "", ""
	c.CreateHooks = nil // no $schema in every answer
	c.RejectUnknownQueryParameters = true
	return c
}

// tagsOfAPI are what operations are sorted by.
var tagsOfAPI = []*huma.Tag{
	{Name: "sources", Description: "What is watched, and how it is doing."},
	{Name: "sites", Description: "Whole sites, and the pages that were found for them."},
	{Name: "versions", Description: "What was captured, and how versions differ."},
	{Name: "outcomes", Description: "The log of polls."},
	{Name: "changes", Description: "The log of changes, as pages, streams and feeds."},
	{Name: "queries", Description: "Conditions over changes that are kept running, and what matched."},
	{Name: "sinks", Description: "Who is told of changes and matches, and what became of it."},
	{Name: "lab", Description: "Policies and budgets, tried on what was recorded."},
	{Name: "session", Description: "Who you are, logging in and out."},
	{Name: "users", Description: "Who may use the API: users, tokens, share links; and who changed what."},
	{Name: "program", Description: "The daemon itself: status, budget, settings."},
}

// descriptions are those of operations that do not have one where they are routed.
var descriptions = map[string]string{
	"get-browser":          "Rendering is set for each source. Without a browser, sources that need one fail.",
	"get-cluster":          "Without a cluster both are empty.",
	"drain-hand":           "It is found by its name in the list of the cluster; one that is not there is 404.",
	"get-feed-atom":        "For feed readers. It answers If-None-Match with 304 if there is nothing new, and links to the page of older entries.",
	"get-feed-json":        "For feed readers. It answers If-None-Match with 304 if there is nothing new, and links to the page of older entries.",
	"list-outcomes":        "With wait, the response is delayed until there is an outcome or the wait is over. A cursor that this log does not have is refused with 410.",
	"list-wanted-polls":    "Each with what it is waiting for, and until when.",
	"list-queries":         "All of them, those of the configuration file too.",
	"test-query":           "Nothing is stored or told.",
	"remove-query":         "One that a sink follows is refused with 409: what it has to tell would be lost.",
	"get-query":            "The ETag of the answer is for If-Match of an edit.",
	"edit-query":           "The body is a JSON merge patch (RFC 7396) of what is said of a new query; null resets a field.",
	"get-query-feed-atom":  "For feed readers. It answers If-None-Match with 304 if there is nothing new, and links to the page of older entries.",
	"get-query-feed-json":  "For feed readers. It answers If-None-Match with 304 if there is nothing new, and links to the page of older entries.",
	"reload":               "What it says holds at once, as far as it can be changed while the daemon runs. If there is a mistake in it nothing changes, and the answer says where.",
	"get-settings":         "What the configuration file, the environment or a flag says cannot be changed here. The ETag of the answer is for If-Match of an edit.",
	"list-sinks":           "All of them, each with how it is doing. Secrets are not shown.",
	"list-sink-kinds":      "What each kind needs, for forms and for the command line.",
	"preview-sink":         "Nothing is sent or stored. The body is what is said of a new sink.",
	"remove-sink":          "What waits for it and what was given up goes with it.",
	"get-sink":             "The ETag of the answer is for If-Match of an edit. Secrets are not shown.",
	"edit-sink":            "The body is a JSON merge patch (RFC 7396) of what is said of a new sink; null resets a field.",
	"list-letters":         "Next is the after of the following page. They can be sent again.",
	"get-site":             "The ID is that of the source that stands for the site.",
	"list-site-pages":      "In every state, or in one. Next is the after of the following page.",
	"list-sources":         "Filters narrow the list together. A page that is not the last has next, which is the after of the following one.",
	"add-source":           "Only url is required. If the URL is watched already with the same settings, or the ID is taken, the answer is 409 with existing.",
	"remove-source":        "Its history stays and is taken up again if the source comes back, unless purge is set.",
	"get-source":           "The ETag of the answer is the revision of the source, for If-Match of an edit. Polls do not change it.",
	"edit-source":          "The body is a JSON merge patch (RFC 7396) of what is said of a new source; null resets a field.",
	"get-source-feed-atom": "For feed readers. It answers If-None-Match with 304 if there is nothing new, and links to the page of older entries.",
	"get-source-feed-json": "For feed readers. It answers If-None-Match with 304 if there is nothing new, and links to the page of older entries.",
	"remove-hook":          "Whoever calls it from now on gets 404.",
	"make-hook":            "Whoever knows the path can have the source polled, and nothing else. With rotate it gets another path, and the old one is invalid.",
	"list-source-outcomes": "Next is the before of the following page.",
	"get-taught":           "Those that were told of over the API, from elsewhere than polls.",
	"get-chances":          "In the order of time, with when they hold. They are shown when they are over, too; 404 if none were given. The ETag of the answer is for If-Match of an edit.",
	"clear-chances":        "From now on the policy goes by what was learnt.",
	"get-version":          "What was captured when, with its size, title and fields; not its text.",
	"get-text":             "What versions are compared by. The number can be latest.",
	"get-session":          "A stranger is told how to log in.",
	"logout":               "With everywhere, all sessions of the user end.",
	"set-password":         "The password of now has to be said.",
	"list-users":           "Passwords are never shown.",
	"get-user":             "The ETag of the answer is for If-Match of an edit.",
	"edit-user":            "What is left out stays as it is. A new password ends the sessions of the user.",
	"remove-user":          "The last admin cannot be removed while there are other users.",
	"list-tokens":          "Secrets are never shown.",
	"remove-token":         "Whoever uses it from now on gets 401.",
	"list-shares":          "Secrets are never shown.",
	"remove-share":         "Whoever uses it from now on gets 401, and whoever is looking is sent away.",
	"get-lab":              "Runs are kept in memory, as many as limits says, until the daemon ends.",
	"get-lab-report":       "The text is Markdown.",
	"get-lab-run":          "Ask again until its state is done, failed or cancelled.",
	"end-lab-run":          "It ends within a few seconds. One that was cancelled stays in the list until it is deleted once more.",
	"get-status":           "Whether it polls, what of, within which limits, and what is in its way.",
}

// finishDescription brings what huma wrote into the form of OpenAPI: it has a word for
// patterns of its own, which is needed only as long as routes are added.
func finishDescription(doc *huma.OpenAPI) {
	// A definition has these if somebody said so, and a source that is shown has them always.
	source := doc.Components.Schemas.Map()["Source"]
	source.Required = append(source.Required, "id", "tags", "select", "noise", "weight", "life", "urgency", "cost", "paused", "suspect", "robots", "keep")
	slices.Sort(source.Required)
	source.Properties["tags"].Nullable = false
	delete(source.Properties, "dial") // what it stands for is shown instead
	for _, s := range doc.Components.Schemas.Map() {
		finishSchema(s)
	}
	for _, item := range doc.Paths {
		for _, op := range operationsOf(item) {
			for _, p := range op.Parameters {
				finishSchema(p.Schema)
			}
		}
	}
}

// operationsOf returns the operations of a path.
func operationsOf(item *huma.PathItem) (all []*huma.Operation) {
	for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Delete, item.Patch} {
		if op != nil {
			all = append(all, op)
		}
	}
	return all
}

// finishSchema does so with a schema and all in it.
func finishSchema(s *huma.Schema) {
	if s == nil {
		return
	}
	s.PatternDescription = ""
	finishSchema(s.Items)
	for _, p := range s.Properties {
		finishSchema(p)
	}
	if values, ok := s.AdditionalProperties.(*huma.Schema); ok {
		finishSchema(values)
	}
}
