/** The stars and the list of favourites on a page. */
import { setUpFavourites } from "./favourites.js";

setUpFavourites();
