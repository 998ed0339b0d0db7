"""Why slips of one key may be accepted without a word: patterns of their names, each with the reason."""

FREE = "a name that its author chooses: a label, a note, a variable"
ELSEWHERE = "read by OSMO's runtime alone, which a finding says of the field as a whole; nothing is rendered of it"
OPTIONAL = "the field may be left out, and what is rendered then says so"
CARRIED = "both places have the field, and the document is carried as written"
FIRST = "a number or a name of the same meaning to every reader, such as 0"
GROVE = "a field of Grove's or of its operator's that no placement depends on; newer releases may have more"
LEFT = "not checked yet: an API server refuses a container without an image"
CHECKED = "the repository of documents has errors before, so that what a name leads to is not looked at"

REASONS: tuple[tuple[str, str], ...] = (
    # the first pattern that matches counts
    ("* *.annotations.*", FREE),
    ("* *.labels.*", FREE),
    ("misspell * *.limits.amd.com/gpu", FIRST),
    ("misspell Workflow *.environment.*", FREE),
    *(
        (f"misspell Workflow workflow.groups.*.tasks.*.{field}.*", ELSEWHERE)
        for field in ("checkpoint", "credentials", "exitActions", "files", "inputs", "kpis", "outputs")
    ),
    ("misspell Workflow workflow.timeout.*", ELSEWHERE),
    ("misspell Workflow workflow.resources.small", CHECKED),
    ("* OperatorConfiguration *", GROVE),
    ("* PodCliqueSet spec.template.headlessServiceConfig*", GROVE),
    ("* PodCliqueSet spec.template.somethingNew", GROVE),
    ("* PodCliqueSet spec.template.terminationDelay", GROVE),
    ("misspell ClusterTopologyBinding status.conditions", GROVE),
    ("move * *.restartPolicy", CARRIED),
    ("move * *.resources", CARRIED),
    ("move * *.suspend", CARRIED),
    ("move PodCliqueSet *.topologyConstraint*", CARRIED),
    ("move PodGroup *.topologyConstraint", CARRIED),
    ("delete * *ontainers.*.image", LEFT),
    ("delete *", OPTIONAL),
)
