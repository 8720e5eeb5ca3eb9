/** The names of the ground's files, made by the plugin of files.js. */
declare module "lineside:ground" {
  const names: { world: string; cells: string[]; tag: string };
  export default names;
}
