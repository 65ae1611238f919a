(* What a rule works on: the text of an expression, its placement on a grid, steps, rest, and what a row says.

   Rows are counted from the lowest, columns from the last: cell (0, 0) is the last cell of the lowest row. *)

From Coq Require Import List Arith.
Import ListNotations.

(* ---- Text ---- *)

Inductive letter := Pad | Digit (x : nat) | Plus | Equals.

(* Terms as the network reads them: joined by the sign, closed by [=]. A term is its digits from left to right. *)
Fixpoint joined (terms : list (list nat)) : list letter :=
  match terms with
  | [] => [Equals]
  | term :: rest => Plus :: map Digit term ++ joined rest
  end.
Definition render (terms : list (list nat)) : list letter := tl (joined terms).

(* ---- A rule as a table ---- *)

Inductive action := Write | Open | Skip.

(* What a cell holds: a letter, or nothing. *)
Definition symbol := option letter.

(* Codes are numbers below [size]. A neighbour is a state, or [None] where there is no cell. *)
Record table := Table {
  size : nat;
  next : symbol -> option nat -> option nat -> option nat -> nat;  (* own symbol, right, below, left *)
  reads : nat -> option nat;                                       (* a digit, or [None]: blank *)
  act : letter -> action;                                          (* what placement does with a letter *)
}.

(* ---- Placement ---- *)

(* The rows that something was written to, the top one first; each from its right end. A letter is written at the right
   end of the top row, which moves left; or it opens a new top row, and all others move down; or it is skipped.
   What moves over the left or the lower border is lost. *)
Definition place_letter (T : table) (H W : nat) (rows : list (list letter)) (l : letter) : list (list letter) :=
  match act T l, rows with
  | Write, row :: others => firstn W (l :: row) :: others
  | Write, [] => []
  | Open, _ => firstn H (firstn W [l] :: rows)
  | Skip, _ => rows
  end.
Definition placed (T : table) (H W : nat) (text : list letter) : list (list letter) :=
  fold_left (place_letter T H W) text [[]].

(* What cell (i, j) of the grid holds. *)
Definition symbols (T : table) (H W : nat) (text : list letter) (i j : nat) : symbol :=
  nth_error (nth (H - 1 - i) (placed T H W text) []) j.

(* ---- Steps ---- *)

Definition frame := nat -> nat -> nat.

Definition left_of (W : nat) (s : frame) (i j : nat) : option nat := if S j <? W then Some (s i (S j)) else None.
Definition right_of (s : frame) (i j : nat) : option nat := match j with 0 => None | S j' => Some (s i j') end.
Definition below (s : frame) (i j : nat) : option nat := match i with 0 => None | S i' => Some (s i' j) end.

(* All cells at once. *)
Definition step (T : table) (W : nat) (x : nat -> nat -> symbol) (s : frame) : frame :=
  fun i j => next T (x i j) (right_of s i j) (below s i j) (left_of W s i j).
Fixpoint run (T : table) (W : nat) (x : nat -> nat -> symbol) (n : nat) (s : frame) : frame :=
  match n with 0 => s | S n' => step T W x (run T W x n' s) end.

(* On a grid of H rows and W columns: *)
Definition made_of_states (T : table) (H W : nat) (s : frame) := forall i j, i < H -> j < W -> s i j < size T.
Definition same (H W : nat) (s s' : frame) := forall i j, i < H -> j < W -> s i j = s' i j.
Definition at_rest (T : table) (H W : nat) (x : nat -> nat -> symbol) (s : frame) := same H W (step T W x s) s.

(* From any frame made of states the grid is in this one after 2·H·W steps and stays there; no other is at rest. *)
Definition comes_to_rest (T : table) (H W : nat) (x : nat -> nat -> symbol) (rest : frame) : Prop :=
  made_of_states T H W rest
  /\ at_rest T H W x rest
  /\ (forall start, made_of_states T H W start -> forall n, 2 * H * W <= n -> same H W (run T W x n start) rest)
  /\ (forall other, made_of_states T H W other -> at_rest T H W x other -> same H W other rest).

(* ---- Reading ---- *)

(* What row i reads as from left to right: digits, and [None] where a cell is blank. *)
Definition reading (T : table) (W : nat) (s : frame) (i : nat) : list (option nat) :=
  map (fun j => reads T (s i j)) (rev (seq 0 W)).
