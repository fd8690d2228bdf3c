// A job type for Flamenco 3: the shot that is submitted is simulated in one task and rendered in the others.
// Copy it into the folder "scripts" of the manager; the workers' Blender needs the extension Active Ragdoll.

const JOB_TYPE = {
    label: "Active Ragdoll",
    description: "Simulate the ragdolls of a shot, then render it",
    settings: [
        { key: "kind", type: "string", choices: ["bake", "cache"], default: "bake",
          description: "Keep the result as keyframes or as Blender's cache" },
        { key: "result", type: "string", subtype: "dir_path", required: true,
          description: "Folder of the simulated shot and its report" },
        { key: "render", type: "bool", default: true, description: "Render the frames too" },
        { key: "frames", type: "string", required: true,
          eval: "f'{C.scene.frame_start}-{C.scene.frame_end}'", description: "Frames to render" },
        { key: "chunk_size", type: "int32", default: 10, description: "Frames that one task renders" },
        { key: "render_output", type: "string", subtype: "file_path",
          description: "Where the pictures go, with # for each digit of the frame" },
        { key: "blendfile", type: "string", required: true, visible: "web", description: "The shot" },
    ],
};

function compileJob(job) {
    const settings = job.settings;
    const name = settings.blendfile.split(/[\\/]/).pop().replace(/\.blend$/, "");
    const result = `${settings.result.replace(/[\\/]$/, "")}/${name}`;
    const simulate = author.Task(`simulate ${name}`, "blender");
    simulate.addCommand(author.Command("exec", {
        exe: "{blender}",
        args: ["--background", "--command", "active_ragdoll", "farm-shot", settings.blendfile,
               "--output", `${result}.blend`, "--report", `${result}.json`]
            .concat(settings.kind == "cache" ? ["--cache"] : []),
    }));
    job.addTask(simulate);
    if (!settings.render) return;
    for (const chunk of frameChunker(settings.frames, settings.chunk_size)) {
        const render = author.Task(`render ${name} ${chunk}`, "blender");
        render.addCommand(author.Command("blender-render", {
            exe: "{blender}",
            exeArgs: "{blenderArgs}",
            argsBefore: [],
            blendfile: `${result}.blend`,
            args: ["--render-output", settings.render_output, "--render-frame", chunk.replaceAll("-", "..")],
        }));
        render.addDependency(simulate);
        job.addTask(render);
    }
}
