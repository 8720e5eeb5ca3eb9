/** The names of the base map's files, from the plugin of files.js. */
declare module "lineside:ground" {
  const names: { world: string; cells: string[]; tag: string };
  export default names;
}
