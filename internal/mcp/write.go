package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"freshet/client"
)

// addWriting adds the tools that write.
func (t tools) addWriting() {
	add(t, &sdk.Tool{
		Name:        "add_source",
		Description: "Start watching a page, a feed or a JSON API. With when or notify, somebody is notified as well.",
		Annotations: &sdk.ToolAnnotations{DestructiveHint: new(false)},
	}, t.addSource)
}

type addIn struct {
	URL    string   `json:"url" jsonschema:"http or https"`
	Name   string   `json:"name,omitempty" jsonschema:"for people"`
	Tags   []string `json:"tags,omitempty"`
	CSS    string   `json:"css,omitempty" jsonschema:"watch only the elements of the page that this CSS selector matches"`
	When   string   `json:"when,omitempty" jsonschema:"what to be notified of, such as price < 100, \"sold out\" appears, or stops working; anything that changes if missing"`
	Notify string   `json:"notify,omitempty" jsonschema:"where to send: the name of a sink or an e-mail address; missing for no alert"`
}

type addOut struct {
	Source source `json:"source"`
	Alert  string `json:"alert,omitempty" jsonschema:"id of the query that notifies"`
}

func (t tools) addSource(ctx context.Context, c *client.Client, in addIn) (out addOut, err error) {
	wanted := client.NewSource{URL: in.URL, Name: in.Name, Tags: in.Tags, Select: client.Select{CSS: in.CSS}}
	if in.When == "" && in.Notify == "" {
		s, err := c.Sources.Add(ctx, wanted)
		return addOut{Source: sourceOf(s)}, err
	}
	made, err := c.Alerts.Add(ctx, client.NewAlert{Watch: &wanted, When: in.When, To: in.Notify})
	if err != nil {
		return out, err
	}
	return addOut{Source: sourceOf(*made.Source), Alert: string(made.Query.ID)}, nil
}
